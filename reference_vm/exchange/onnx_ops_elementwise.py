"""ONNX operators that work element by element."""

from __future__ import annotations

import functools
from typing import Final

from reference_vm.exchange.node import OnnxNode, Rule, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import F64, I64


def plain(op: str) -> Rule:
    """Return the rule of a node that is one call of ``op`` on all its inputs."""

    def rule(node: OnnxNode) -> Var:
        return node.build.call(op, *node.present())

    return rule


def with_floats(op: str, *names: str) -> Rule:
    """Return the rule of a call of ``op`` with float attributes of the same names."""

    def rule(node: OnnxNode) -> Var:
        attrs = {name: node.number(name) for name in names}
        return node.build.call(op, node.input(0), **attrs)

    return rule


def folded(op: str) -> Rule:
    """Return the rule of a node of any number of inputs, combined two at a time by ``op``."""

    def rule(node: OnnxNode) -> Var:
        return _combined(node, op)

    return rule


def _combined(node: OnnxNode, op: str) -> Var:
    return functools.reduce(lambda x, y: node.build.call(op, x, y), node.present())


def _mean(node: OnnxNode) -> Var:
    total = _combined(node, "add")
    count = node.build.constant(len(node.inputs), node.dtype())
    return node.build.call("divide", total, count)


def _divide(node: OnnxNode) -> Var:
    op = "divide" if node.dtype().is_float else "trunc_divide"
    return node.build.call(op, node.input(0), node.input(1))


def _mod(node: OnnxNode) -> Var:
    truncates = node.flag("fmod")
    if node.dtype().is_float and not truncates and node.version < 28:
        raise node.invalid("fmod is 0, which takes integers, but the operands are floats")
    return node.build.call("fmod" if truncates else "remainder", node.input(0), node.input(1))


def _pow(node: OnnxNode) -> Var:
    """The result has the dtype of the base; an exponent of another dtype is brought to one."""
    base, exponent = node.input(0), node.input(1)
    dtype, other = node.dtype(0), node.dtype(1)
    if dtype == other:
        return node.build.call("pow", base, exponent)
    common = dtype if dtype.is_float else F64 if other.is_float else I64
    power = node.build.call("pow", cast(node, base, common), cast(node, exponent, common))
    return cast(node, power, dtype)


def _prelu(node: OnnxNode) -> Var:
    x, slope = node.input(0), node.input(1)
    rank, slope_rank = node.rank(0), node.rank(1)
    if node.version < 9 and slope_rank == 1 and rank > 2:
        axes = tuple(range(1, rank - 1))
        slope = node.build.call("expand_dims", slope, axes=axes)
    return node.build.call("prelu", x, slope)


def _clip_attributes(node: OnnxNode) -> Var:
    low, high = (node.build.constant(node.number(n), node.dtype()) for n in ("min", "max"))
    return node.build.call("clip", node.input(0), low, high)


def _clip(node: OnnxNode) -> Var:
    if not node.given(1) and not node.given(2):
        return node.input(0)
    return node.build.call("clip", node.input(0), node.optional(1), node.optional(2))


def _bit_shift(node: OnnxNode) -> Var:
    match node.text("direction"):
        case "LEFT":
            op = "bitwise_left_shift"
        case "RIGHT":
            op = "bitwise_right_shift"
        case found:
            raise node.invalid(f"direction is {found!r}, expected 'LEFT' or 'RIGHT'")
    return node.build.call(op, node.input(0), node.input(1))


def _is_inf(node: OnnxNode) -> Var:
    return node.build.call(
        "isinf",
        node.input(0),
        detect_negative=node.flag("detect_negative"),
        detect_positive=node.flag("detect_positive"),
    )


def _gelu(node: OnnxNode) -> Var:
    return node.build.call("gelu", node.input(0), approximate=node.text("approximate"))


def _swish(node: OnnxNode) -> Var:
    x, alpha = node.input(0), node.build.constant(node.number("alpha"), node.dtype())
    gate = node.build.call("sigmoid", node.build.call("multiply", x, alpha))
    return node.build.call("multiply", x, gate)


def _relu(node: OnnxNode) -> Var:
    if node.dtype().is_float:
        return node.build.call("relu", node.input(0))
    return node.build.call("maximum", node.input(0), node.build.constant(0, node.dtype()))


_UNARY: Final[dict[str, tuple[str, tuple[int, ...]]]] = {
    "Abs": ("abs", (6, 13)),
    "Neg": ("negative", (6, 13)),
    "Sign": ("sign", (9, 13)),
    "Sqrt": ("sqrt", (6, 13)),
    "Reciprocal": ("reciprocal", (6, 13)),
    "Exp": ("exp", (6, 13)),
    "Log": ("log", (6, 13)),
    "Sin": ("sin", (7, 22)),
    "Cos": ("cos", (7, 22)),
    "Tan": ("tan", (7, 22)),
    "Asin": ("asin", (7, 22)),
    "Acos": ("acos", (7, 22)),
    "Atan": ("atan", (7, 22)),
    "Sinh": ("sinh", (9, 22)),
    "Cosh": ("cosh", (9, 22)),
    "Tanh": ("tanh", (6, 13)),
    "Asinh": ("asinh", (9, 22)),
    "Acosh": ("acosh", (9, 22)),
    "Atanh": ("atanh", (9, 22)),
    "Erf": ("erf", (9, 13)),
    "Floor": ("floor", (6, 13)),
    "Ceil": ("ceil", (6, 13)),
    "Round": ("round", (11, 22)),
    "Sigmoid": ("sigmoid", (6, 13)),
    "Softplus": ("softplus", (1, 22)),
    "Softsign": ("softsign", (1, 22)),
    "HardSwish": ("hard_swish", (14, 22)),
    "Mish": ("mish", (18, 22)),
    "BitwiseNot": ("bitwise_invert", (18,)),
    "IsNaN": ("isnan", (9, 13, 20)),
}

_BINARY: Final[dict[str, tuple[str, tuple[int, ...]]]] = {
    "Add": ("add", (7, 13, 14)),
    "Sub": ("subtract", (7, 13, 14)),
    "Mul": ("multiply", (7, 13, 14)),
    "Equal": ("equal", (7, 11, 13, 19)),
    "Less": ("less", (7, 9, 13)),
    "Greater": ("greater", (7, 9, 13)),
    "LessOrEqual": ("less_equal", (12, 16)),
    "GreaterOrEqual": ("greater_equal", (12, 16)),
    "And": ("logical_and", (7,)),
    "Or": ("logical_or", (7,)),
    "Xor": ("logical_xor", (7,)),
    "BitwiseAnd": ("bitwise_and", (18,)),
    "BitwiseOr": ("bitwise_or", (18,)),
    "BitwiseXor": ("bitwise_xor", (18,)),
    "Where": ("where", (9, 16)),
}

RULES: Final[RuleTable] = {
    **{name: versions(plain(op), *since) for name, (op, since) in (_UNARY | _BINARY).items()},
    "Not": versions(plain("logical_not"), 1),
    "Relu": versions(_relu, 6, 13, 14),
    "Div": versions(_divide, 7, 13, 14),
    "Mod": versions(_mod, 10, 13, 28),
    "Pow": versions(_pow, 7, 12, 13, 15),
    "Max": versions(folded("maximum"), 8, 12, 13),
    "Min": versions(folded("minimum"), 8, 12, 13),
    "Sum": versions(folded("add"), 8, 13),
    "Mean": versions(_mean, 8, 13),
    "PRelu": versions(_prelu, 7, 9, 16),
    "Clip": versions(_clip_attributes, 6) | versions(_clip, 11, 12, 13),
    "BitShift": versions(_bit_shift, 11, 28),
    "IsInf": versions(_is_inf, 10, 20),
    "LeakyRelu": versions(with_floats("leaky_relu", "alpha"), 6, 16),
    "HardSigmoid": versions(with_floats("hard_sigmoid", "alpha", "beta"), 6, 22),
    "Elu": versions(with_floats("elu", "alpha"), 6, 22),
    "Selu": versions(with_floats("selu", "alpha", "gamma"), 6, 22),
    "Celu": versions(with_floats("celu", "alpha"), 12, 28),
    "ThresholdedRelu": versions(with_floats("thresholded_relu", "alpha"), 10, 22),
    "Shrink": versions(with_floats("shrink", "bias", "lambd"), 9),
    "Gelu": versions(_gelu, 20),
    "Swish": versions(_swish, 24),
}


__all__ = ["RULES", "folded", "plain", "with_floats"]
