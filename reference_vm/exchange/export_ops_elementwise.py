"""How elementwise operators, reductions and casts are written in ONNX."""

from __future__ import annotations

from typing import Final

from reference_vm.exchange.element_types import to_element_type
from reference_vm.exchange.export_writer import ExportCall, ExportRule, ExportTable
from reference_vm.types import DType
from reference_vm.types.dtype import I32, I64, U32, U64, Kind

_SUMMED: Final = (I32, I64, U32, U64)
"""The integers that ONNX adds up; narrower ones go through i64 and wrap after."""


def same(op: str) -> ExportRule:
    """Return the rule of an operator that is one node with the same attributes."""

    def rule(call: ExportCall) -> str:
        return call.emit(op, *call.inputs, **call.attrs)

    return rule


def _for_floats(op: str) -> ExportRule:
    """Return the rule of a rounding function, which leaves integers as they are."""

    def rule(call: ExportCall) -> str:
        return call.emit(op if call.dtype.is_float else "Identity", call.inputs[0])

    return rule


def _negative(call: ExportCall) -> str:
    if call.dtype.is_signed:
        return call.emit("Neg", call.inputs[0])
    return call.emit("Sub", call.scalar(0, call.dtype), call.inputs[0])


def _floor_divide(call: ExportCall) -> str:
    x, y = call.inputs
    if call.dtype.is_float:
        raise call.inexpressible("ONNX has no division of floats that rounds down")
    quotient = call.emit("Div", x, y)
    if not call.dtype.is_signed:
        return quotient
    zero = call.scalar(0, call.dtype)
    inexact = call.emit("Not", call.emit("Equal", call.emit("Mod", x, y), zero))
    apart = call.emit("Xor", call.emit("Less", x, zero), call.emit("Less", y, zero))
    return call.emit("Sub", quotient, call.cast(call.emit("And", inexact, apart), call.dtype))


def _remainder(call: ExportCall) -> str:
    if call.dtype.is_float:
        raise call.inexpressible("ONNX has no remainder of floats with the sign of the divisor")
    return call.emit("Mod", *call.inputs, fmod=0)


def _fmod(call: ExportCall) -> str:
    return call.emit("Mod", *call.inputs, fmod=1)


def _square(call: ExportCall) -> str:
    return call.emit("Mul", call.inputs[0], call.inputs[0])


def _not_equal(call: ExportCall) -> str:
    return call.emit("Not", call.emit("Equal", *call.inputs))


def _shift(direction: str) -> ExportRule:
    def rule(call: ExportCall) -> str:
        if call.dtype.kind is not Kind.UNSIGNED:
            raise call.inexpressible("ONNX shifts unsigned integers only")
        return call.emit("BitShift", *call.inputs, direction=direction)

    return rule


def _cast(call: ExportCall) -> str:
    to: DType = call.attrs["to"]
    return call.emit("Cast", call.inputs[0], to=to_element_type(to))


def _is_nan_or_inf(op: str) -> ExportRule:
    def rule(call: ExportCall) -> str:
        flags = {name: int(call.attrs[name]) for name in call.attrs}
        return call.emit(op, call.inputs[0], **flags)

    return rule


def _axes(call: ExportCall) -> str:
    axis = call.attrs["axis"]
    return "" if axis is None else call.ints(axis)


def _reduction(op: str, *, through: DType | None = None, wide: bool = False) -> ExportRule:
    """Return the rule of a reduction.

    ``through`` is the dtype to reduce in; with ``wide``, narrow integers go through i64.
    """

    def rule(call: ExportCall) -> str:
        if call.attrs["axis"] == ():
            return call.emit("Identity", call.inputs[0])
        narrow = wide and call.dtype.is_integer and call.dtype not in _SUMMED
        inner = I64 if narrow else through
        keepdims = int(call.attrs["keepdims"])
        if inner is None:
            return call.emit(op, call.inputs[0], _axes(call), keepdims=keepdims)
        x = call.cast(call.inputs[0], inner)
        return call.cast(call.emit(op, x, _axes(call), keepdims=keepdims), call.dtype)

    return rule


def _arg(op: str) -> ExportRule:
    def rule(call: ExportCall) -> str:
        return call.emit(
            op,
            call.inputs[0],
            axis=call.attrs["axis"],
            keepdims=int(call.attrs["keepdims"]),
            select_last_index=int(call.attrs["select_last"]),
        )

    return rule


def _cumulative_sum(call: ExportCall) -> str:
    flags = {name: int(call.attrs[name]) for name in ("exclusive", "reverse")}
    narrow = call.dtype.is_integer and call.dtype not in _SUMMED
    x = call.cast(call.inputs[0], I64) if narrow else call.inputs[0]
    axis = call.scalar(call.attrs["axis"], I64)
    total = call.emit("CumSum", x, axis, **flags)
    return call.cast(total, call.dtype) if narrow else total


_SAME: Final = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "trunc_divide": "Div",
    "pow": "Pow",
    "maximum": "Max",
    "minimum": "Min",
    "abs": "Abs",
    "sign": "Sign",
    "sqrt": "Sqrt",
    "reciprocal": "Reciprocal",
    "exp": "Exp",
    "log": "Log",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "tanh": "Tanh",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "erf": "Erf",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "leaky_relu": "LeakyRelu",
    "hard_sigmoid": "HardSigmoid",
    "elu": "Elu",
    "selu": "Selu",
    "celu": "Celu",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "gelu": "Gelu",
    "hard_swish": "HardSwish",
    "mish": "Mish",
    "thresholded_relu": "ThresholdedRelu",
    "shrink": "Shrink",
    "prelu": "PRelu",
    "equal": "Equal",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "logical_not": "Not",
    "bitwise_and": "BitwiseAnd",
    "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor",
    "bitwise_invert": "BitwiseNot",
    "where": "Where",
    "clip": "Clip",
}

RULES: Final[ExportTable] = {
    **{name: same(op) for name, op in _SAME.items()},
    "negative": _negative,
    "floor": _for_floats("Floor"),
    "ceil": _for_floats("Ceil"),
    "round": _for_floats("Round"),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": _fmod,
    "square": _square,
    "not_equal": _not_equal,
    "bitwise_left_shift": _shift("LEFT"),
    "bitwise_right_shift": _shift("RIGHT"),
    "cast": _cast,
    "isnan": _is_nan_or_inf("IsNaN"),
    "isinf": _is_nan_or_inf("IsInf"),
    "sum": _reduction("ReduceSum", wide=True),
    "prod": _reduction("ReduceProd", wide=True),
    "mean": _reduction("ReduceMean"),
    "max": _reduction("ReduceMax", wide=True),
    "min": _reduction("ReduceMin", wide=True),
    "all": _reduction("ReduceMin", through=I32),
    "any": _reduction("ReduceSum", through=I64),
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
    "cumulative_sum": _cumulative_sum,
}


__all__ = ["RULES", "same"]
