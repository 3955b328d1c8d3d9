"""From what operators say (`loops.scalar`) to plain instructions (`loops.code`).

The special cases of `semantics.md` section 1 are written out here, once for all printers: NaN goes
through ``max`` and ``min``; integer division by zero gives 0 and the minimum divided by -1 wraps;
shifts by the width or more give 0, or the sign; floats saturate when they become integers.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_vm.loops import polynomials
from reference_vm.loops.code import Code, Number
from reference_vm.loops.scalar import (
    Binary,
    Cast,
    Compare,
    Fold,
    Input,
    Literal,
    RowLength,
    Scalar,
    Select,
    Unary,
)
from reference_vm.types.dtype import BF16, BOOL, F16, F32, F64, I64, DType, Kind

_PLAIN_UNARY = {"neg": "neg", "abs": "abs", "sqrt": "sqrt", "not": "not"}
_ROUNDING = ("floor", "ceil", "round")
_PLAIN_BINARY = ("add", "sub", "mul", "div", "and", "or", "xor")


def expand(code: Code, scalar: Scalar, inputs: Sequence[Number | None]) -> Number:
    """Return ``scalar`` as instructions of ``code``; its `Input` number i is ``inputs[i]``."""
    done: dict[int, Number] = {}
    stack: list[Scalar] = [scalar]
    while stack:
        top = stack[-1]
        if id(top) in done:
            stack.pop()
            continue
        waiting = [x for x in _operands(top) if id(x) not in done]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        done[id(top)] = _one(code, top, [done[id(x)] for x in _operands(top)], inputs)
    return done[id(scalar)]


def _operands(scalar: Scalar) -> tuple[Scalar, ...]:
    match scalar:
        case Unary(x=x) | Cast(x=x) | Fold(x=x):
            return (x,)
        case Binary(x=x, y=y) | Compare(x=x, y=y):
            return (x, y)
        case Select(condition=condition, x=x, y=y):
            return (condition, x, y)
        case _:
            return ()


def _one(code: Code, scalar: Scalar, args: list[Number], inputs: Sequence[Number | None]) -> Number:
    match scalar:
        case Input(index=index):
            found = inputs[index]
            assert found is not None, f"operand {index} is left out"
            return found
        case Literal(value=value, dtype=dtype):
            return code.literal(value, dtype)
        case Unary(op=op):
            return unary(op, args[0])
        case Binary(op=op):
            return binary(op, args[0], args[1])
        case Compare(op=op):
            return code.emit(op, args, BOOL)
        case Select():
            return args[0].select(args[1], args[2])
        case Cast(dtype=dtype):
            return convert(args[0], dtype)
        case Fold(op=op, identity=identity):
            return args[0].fold(op, identity)
        case RowLength(dtype=dtype):
            return code.emit("count", (), I64).cast(dtype)


def unary(op: str, x: Number) -> Number:
    """Return ``op`` of `scalar.UNARY` applied to ``x``."""
    if op in _PLAIN_UNARY:
        unsigned = op == "abs" and (x.dtype.kind is Kind.UNSIGNED or x.dtype.is_bool)
        return x if unsigned else x.unary(op)
    if op in _ROUNDING:
        return x.unary(op) if x.dtype.is_float else x
    if op == "sign":
        return _sign(x)
    if op == "isnan":
        return x.is_nan() if x.dtype.is_float else x.code.literal(False, BOOL)
    if op == "isinf":
        infinite = x.unary("abs").eq(float("inf")) if x.dtype.is_float else None
        return infinite or x.code.literal(False, BOOL)
    return polynomials.apply(op, x)


def _sign(x: Number) -> Number:
    if x.dtype.is_float:
        rest = x.eq(0.0).select(x.like(0.0), x)  # of either sign is 0, and NaN is NaN
        return x.gt(0.0).select(x.like(1.0), x.lt(0.0).select(x.like(-1.0), rest))
    positive = x.gt(0).select(x.like(1), x.like(0))
    return positive if x.dtype.kind is Kind.UNSIGNED else x.lt(0).select(x.like(-1), positive)


def binary(op: str, x: Number, y: Number) -> Number:
    """Return ``op`` of `scalar.BINARY` applied to ``x`` and ``y``."""
    if op in _PLAIN_BINARY and not (op == "div" and not x.dtype.is_float):
        return _bool_arithmetic(op, x, y) if x.dtype.is_bool else x.binary(op, y)
    if op in ("max", "min"):
        return extreme(op, x, y)
    if op in ("shl", "shr"):
        return _shift(op, x, y)
    if op == "pow":
        return polynomials.power(x, y) if x.dtype.is_float else _integer_power(x, y)
    return (_float_division if x.dtype.is_float else _integer_division)(op, x, y)


def _bool_arithmetic(op: str, x: Number, y: Number) -> Number:
    """Bools add as ``or`` and multiply as ``and``, as NumPy's do."""
    return x.binary({"add": "or", "mul": "and", "sub": "xor"}.get(op, op), y)


def extreme(op: str, x: Number, y: Number) -> Number:
    """Return the greater or the lesser of two numbers; NaN if either is."""
    if x.dtype.is_bool:
        return x | y if op == "max" else x & y
    chosen = (x.gt(y) if op == "max" else x.lt(y)).select(x, y)
    return x.is_nan().select(x, chosen) if x.dtype.is_float else chosen


def _shift(op: str, x: Number, y: Number) -> Number:
    width = x.dtype.bits
    inside = y.lt(width) & y.ge(0) if y.dtype.kind is Kind.SIGNED else y.lt(width)
    shifted = x.binary(op, inside.select(y, y.like(0)))
    beyond = x.binary("shr", width - 1) if x.dtype.kind is Kind.SIGNED and op == "shr" else None
    return inside.select(shifted, beyond or x.like(0))


def _integer_division(op: str, x: Number, y: Number) -> Number:
    zero, signed = y.eq(0), x.dtype.kind is Kind.SIGNED
    unsafe = zero | (y.eq(-1) & x.eq(x.dtype.minimum)) if signed else zero
    divisor = unsafe.select(y.like(1), y)
    quotient, rest = x.binary("sdiv", divisor), x.binary("srem", divisor)
    if op in ("floor_div", "rem") and signed:
        apart = rest.ne(0) & (rest ^ divisor).lt(0)
        quotient = apart.select(quotient - 1, quotient)
        rest = apart.select(rest + divisor, rest)
    result = rest if op in ("rem", "fmod") else quotient
    return zero.select(x.like(0), result)


def _float_division(op: str, x: Number, y: Number) -> Number:
    if op == "fmod":
        return x.binary("fmod", y)
    if op in ("trunc_div", "div"):
        return (x / y).unary("trunc") if op == "trunc_div" else x / y
    rest = x.binary("fmod", y)
    apart = rest.ne(0.0) & (rest.lt(0.0) ^ y.lt(0.0))
    if op == "rem":
        zero = polynomials.copy_sign(rest.like(0.0), y)
        return rest.eq(0.0).select(zero, apart.select(rest + y, rest))
    quotient = (x - rest) / y
    quotient = apart.select(quotient - 1.0, quotient)
    whole = quotient.unary("floor")
    whole = (quotient - whole).gt(0.5).select(whole + 1.0, whole)
    zero = polynomials.copy_sign(whole.like(0.0), x / y)
    return y.eq(0.0).select(x / y, quotient.eq(0.0).select(zero, whole))


def _integer_power(x: Number, y: Number) -> Number:
    """Square and multiply over all bits of the exponent; a negative one gives 0 (an error)."""
    result, square = x.like(1), x
    bits = x.dtype.bits - (1 if x.dtype.kind is Kind.SIGNED else 0)
    for bit in range(bits):
        result = (y.shift_right(bit) & 1).ne(0).select(result * square, result)
        square = square * square if bit + 1 < bits else square
    return y.lt(0).select(x.like(0), result) if x.dtype.kind is Kind.SIGNED else result


def convert(x: Number, dtype: DType) -> Number:
    """Return ``x`` in another dtype, as the operator ``cast`` says."""
    if x.dtype == dtype:
        return x
    if dtype.is_bool:
        return widen(x).ne(0)
    if dtype.is_integer and x.dtype.is_float:
        return saturate(widen(x), dtype)
    if x.dtype in (F16, BF16):
        return widen(x).cast(dtype)
    if dtype in (F16, BF16):
        wide = _to_float(x, dtype)
        return (_to_odd(wide) if dtype == F16 and wide.dtype == F64 else wide.cast(F32)).cast(dtype)
    return x.cast(dtype)


def _to_odd(x: Number) -> Number:
    """Return an f64 as the f32 next to it whose last bit is odd, unless there is an equal one.

    Rounding that to f16 gives what rounding once gives.
    """
    near = x.cast(F32)
    back = near.cast(F64)
    bits = near.bits()
    away = back.unary("abs").gt(x.unary("abs"))
    other = away.select(bits - 1, bits + 1).as_float()
    exact = back.eq(x) | x.is_nan() | (bits & 1).ne(0)
    return exact.select(near, other)


def _to_float(x: Number, dtype: DType) -> Number:
    """Return ``x`` as a float to be rounded to ``dtype``; of f64, bf16 is rounded by way of f32."""
    if x.dtype.is_float:
        return x
    small = x.dtype.is_bool or x.dtype.bits <= 16
    return x.cast(F32) if small or dtype == BF16 else x.cast(F64)


def widen(x: Number) -> Number:
    """Return an f16 or bf16 as the f32 that operators compute in; others as they are."""
    return x.cast(F32) if x.dtype in (F16, BF16) else x


def saturate(x: Number, dtype: DType) -> Number:
    """Return a float truncated to an integer: the nearest limit when out of range, 0 for NaN."""
    low, high = float(dtype.minimum), float(dtype.maximum + 1)
    below, above = x.lt(low), x.ge(high)
    inside = x.ge(low) & x.lt(high)
    fitting = inside.select(x, x.like(0.0)).cast(dtype)
    limit = above.select(fitting.like(dtype.maximum), fitting)
    return below.select(fitting.like(dtype.minimum), limit)
