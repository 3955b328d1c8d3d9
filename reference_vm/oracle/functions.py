"""What functions of one operand mean: roots, exponentials, activations, rounding, casts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.arithmetic import wrap
from reference_vm.oracle.definition import Meaning, Operands
from reference_vm.oracle.estimate import Estimate, Wide, finite_unless_undecided, unit, wide
from reference_vm.types import Attrs, DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BOOL

Curve = Callable[[Wide, Attrs], Wide]

ULPS: Final = 2.0
"""What a transcendental function may be off, in units in the last place."""


def _spread(curve: Curve, x: Estimate, attrs: Attrs, value: Wide) -> Wide:
    """Return how far a function that rises or falls throughout can move within the error."""
    up = np.abs(curve(x.value + x.errors, attrs) - value)
    down = np.abs(curve(x.value - x.errors, attrs) - value)
    return finite_unless_undecided(np.fmax(up, down), x.errors)


def smooth(
    curve: Curve,
    *,
    ulps: float = ULPS,
    steepness: float | None = None,
    absolute: Callable[[Wide, Wide], Wide] | None = None,
) -> Meaning:
    """Return the meaning of a function of one float.

    Args:
        curve: The function in higher precision.
        ulps: The error it may make, in units in the last place of its result; 0 if rounded right.
        steepness: The greatest slope of a function that is not monotone; ``None`` if it is.
        absolute: From operand and result to a size of which one unit roundoff is allowed too,
            for formulas that cancel.
    """

    def meaning(call: Operands) -> Estimate:
        x = call[0]
        if not x.dtype.is_float:
            return _integers(call, curve)
        with np.errstate(all="ignore"):
            value = np.asarray(curve(x.value, call.attrs))
            own = np.abs(value) * (2 * ulps * unit(x.dtype))
            if absolute is not None:
                own = own + absolute(x.value, value) * unit(x.dtype)

            def propagated() -> Wide:
                if steepness is not None:
                    return x.errors * steepness
                return _spread(curve, x, call.attrs, value)

            moves = propagated if x.error is not None else None
            return call.rounding.result(value, x.dtype, own=own, propagated=moves)

    return meaning


def _integers(call: Operands, curve: Curve) -> Estimate:
    with np.errstate(all="ignore"):
        value = np.asarray(curve(call[0].value, call.attrs))
    return Estimate(value.astype(call[0].value.dtype), None, call.dtype)


def _exact(curve: Curve) -> Meaning:
    """Return the meaning of a function that every device computes to the bit, slope at most 1."""

    def meaning(call: Operands) -> Estimate:
        x = call[0]
        with np.errstate(all="ignore"):
            value = np.asarray(curve(x.value, call.attrs))
        return call.rounding.exact(value, x.error, x.dtype)

    return meaning


def _step(curve: Callable[[Wide], Wide]) -> Meaning:
    """Return the meaning of floor, ceil and round: a decision where the operand may be off."""

    def meaning(call: Operands) -> Estimate:
        x = call[0]
        if not x.dtype.is_float:
            return call.rounding.exact(x.value, None, x.dtype)
        own = np.asarray(curve(x.value))
        margin: Wide | None = None
        if x.error is not None:
            with np.errstate(all="ignore"):
                low, high = curve(x.value - x.errors), curve(x.value + x.errors)
            margin = np.where(low == high, 1.0, 0.0)
        return call.decide(own, margin, x.dtype)

    return meaning


def _sign(call: Operands) -> Estimate:
    x = call[0]
    margin = None if x.error is None else np.where(x.errors > 0, np.abs(x.value) - x.errors, 1.0)
    return call.decide(np.asarray(np.sign(x.value)), margin, x.dtype)


def _test(curve: Callable[[Wide, Attrs], Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        return call.decide(np.asarray(curve(call[0].value, call.attrs)), None, BOOL)

    return meaning


def _isinf(x: Wide, attrs: Attrs) -> Wide:
    up = np.isposinf(x) & bool(attrs["detect_positive"])
    down = np.isneginf(x) & bool(attrs["detect_negative"])
    return np.asarray(up | down)


def _cast(call: Operands) -> Estimate:
    x, target = call[0], call.attrs["to"]
    assert isinstance(target, DType)
    if x.dtype.is_float and target.is_float:
        if target.significand >= x.dtype.significand and target.name != "f16":
            return call.rounding.exact(_widened(x, target), x.error, target)
        own = np.zeros(x.value.shape)
        return call.rounding.result(
            _widened(x, target), target, own=own, propagated=lambda: x.errors
        )
    if target.is_float:
        value = _widened(x, target)
        if np.all(np.abs(value) <= 2.0**target.significand) and target.name != "f16":
            return call.rounding.exact(value, None, target)
        return call.rounding.result(value, target, own=np.zeros(value.shape))
    if target.is_bool:
        own_bool = np.asarray(x.value != 0) | _is_nan(x)
        margin = None if x.error is None else np.abs(x.value) - x.errors
        return call.decide(own_bool, margin, BOOL)
    return _to_integers(call, x, target)


def _is_nan(x: Estimate) -> Wide:
    return np.isnan(x.value) if x.dtype.is_float else np.zeros(x.value.shape, np.bool_)


def _widened(x: Estimate, target: DType) -> Wide:
    return x.value.astype(Estimate.exact(np.zeros(()), target).value.dtype)


def _to_integers(call: Operands, x: Estimate, target: DType) -> Estimate:
    numpy = Estimate.exact(np.zeros(()), target).value.dtype
    if not x.dtype.is_float:
        return Estimate(wrap(x.value.astype(object), numpy), None, target)
    low, high = target.minimum, target.maximum

    def saturate(values: Wide) -> Wide:
        flat = [
            0 if math.isnan(v) else low if v <= low else high if v >= high else int(v)
            for v in np.ravel(values).tolist()
        ]
        return np.asarray(flat, dtype=object).astype(numpy).reshape(values.shape)

    own = saturate(x.value)
    margin: Wide | None = None
    if x.error is not None:
        with np.errstate(all="ignore"):
            lower, upper = saturate(x.value - x.errors), saturate(x.value + x.errors)
        margin = np.where(lower == upper, 1.0, 0.0)
    return call.decide(own, margin, target)


def _erf(x: Wide, _: Attrs) -> Wide:
    flat = [math.erf(v) for v in np.ravel(x).tolist()]
    return np.asarray(flat, dtype=x.dtype).reshape(x.shape)


def _sigmoid(x: Wide, _: Attrs) -> Wide:
    return np.asarray(1 / (1 + np.exp(-x)))


def _softplus(x: Wide, _: Attrs) -> Wide:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def _gelu(x: Wide, attrs: Attrs) -> Wide:
    if attrs["approximate"] == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + x.dtype.type(0.044715) * x**3)
        return np.asarray(x * (1 + np.tanh(inner)) / 2)
    return np.asarray(x * (1 + _erf(x / np.sqrt(x.dtype.type(2)), attrs)) / 2)


def _exponential(x: Wide, alpha: float, scale: float, over: float) -> Wide:
    return np.asarray(scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / over)))


def _elu(x: Wide, a: Attrs) -> Wide:
    return np.where(np.isnan(x), x, _exponential(x, a["alpha"], 1.0, 1.0))


def _selu(x: Wide, a: Attrs) -> Wide:
    return np.where(np.isnan(x), x, _exponential(x, a["alpha"], a["gamma"], 1.0))


def _celu(x: Wide, a: Attrs) -> Wide:
    return np.where(np.isnan(x), x, _exponential(x, a["alpha"], 1.0, a["alpha"]))


def _leaky(x: Wide, a: Attrs) -> Wide:
    return np.where(x < 0, a["alpha"] * x, x)


def _hard_sigmoid(x: Wide, a: Attrs) -> Wide:
    return np.asarray(np.clip(a["alpha"] * x + a["beta"], 0, 1))


def _hard_swish(x: Wide, _: Attrs) -> Wide:
    return np.asarray(x * np.clip(x / 6 + 0.5, 0, 1))


def _shrink(x: Wide, a: Attrs) -> Wide:
    low, high = x + a["bias"], x - a["bias"]
    return np.where(x < -a["lambd"], low, np.where(x > a["lambd"], high, 0.0))


def _prelu(call: Operands) -> Estimate:
    x, slope = call[0], call[1]
    with np.errstate(all="ignore"):
        value = np.where(x.value < 0, x.value * slope.value, x.value)
        error = np.abs(slope.value) * x.errors + np.abs(x.value) * slope.errors + x.errors
    return call.rounding.result(
        value, x.dtype, own=np.zeros(value.shape), propagated=lambda: np.asarray(error)
    )


def _size(x: Wide, _: Wide) -> Wide:
    return np.abs(x)


def _one(x: Wide, _: Wide) -> Wide:
    return np.ones(x.shape)


def _two(x: Wide, value: Wide) -> Wide:
    """Return what ``exp(x) - 1`` may lose by cancelling, against the value's own size."""
    return np.asarray(2.0 + np.abs(value))


def _plain(function: Callable[[Wide], Wide]) -> Curve:
    return lambda x, _: np.asarray(function(x))


_TRANSCENDENTAL: Final = (
    *("exp", "log", "tan", "sinh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh"),
    "arctanh",
)


def _bitcast(call: Operands) -> Estimate:
    """Bits are exact only where the operand is."""
    x, to = call[0], call.attrs["to"]
    assert isinstance(to, DType)
    own = np.ascontiguousarray(x.value.astype(to_numpy(x.dtype))).view(to_numpy(to))
    own = own.reshape(x.value.shape)
    if not to.is_float:
        return call.decide(own, np.where(x.errors > 0, -1.0, 1.0), to)
    error = None if x.error is None else np.where(x.errors > 0, np.inf, 0.0)
    return Estimate(own.astype(wide(to)), error, to)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        **{n.replace("arc", "a"): smooth(_plain(getattr(np, n))) for n in _TRANSCENDENTAL},
        "sin": smooth(_plain(np.sin), steepness=1.0),
        "cos": smooth(_plain(np.cos), steepness=1.0),
        "cosh": smooth(lambda x, _: np.cosh(x)),
        "erf": smooth(_erf),
        "sqrt": smooth(_plain(np.sqrt), ulps=0),
        "square": smooth(lambda x, _: x * x, ulps=0),
        "reciprocal": smooth(lambda x, _: 1 / x, ulps=0),
        "sigmoid": smooth(_sigmoid, ulps=4),
        "softplus": smooth(_softplus, ulps=4, absolute=_one),
        "softsign": smooth(lambda x, _: x / (1 + np.abs(x)), ulps=2),
        "gelu": smooth(_gelu, ulps=6, steepness=1.13, absolute=lambda x, _: 4 * np.abs(x)),
        "mish": smooth(
            lambda x, a: x * np.tanh(_softplus(x, a)), ulps=8, steepness=1.1, absolute=_size
        ),
        "elu": smooth(_elu, ulps=4, absolute=_two),
        "selu": smooth(_selu, ulps=4, absolute=lambda x, r: 2 * _two(x, r)),
        "celu": smooth(_celu, ulps=4, absolute=_two),
        "leaky_relu": smooth(_leaky, ulps=1),
        "hard_sigmoid": smooth(_hard_sigmoid, ulps=2, absolute=_one),
        "hard_swish": smooth(_hard_swish, ulps=3, steepness=1.5, absolute=_size),
        "thresholded_relu": _exact(lambda x, a: np.where(x > a["alpha"], x, 0.0)),
        "shrink": smooth(_shrink, ulps=1),
        "prelu": _prelu,
        "relu": _exact(lambda x, _: np.maximum(x, 0)),
        "abs": _exact(lambda x, _: np.abs(x)),
        "negative": _exact(lambda x, _: np.negative(x)),
        "identity": _exact(lambda x, _: x),
        "bitwise_invert": _exact(lambda x, _: np.invert(x)),
        "floor": _step(np.floor),
        "ceil": _step(np.ceil),
        "round": _step(np.rint),
        "sign": _sign,
        "isnan": _test(lambda x, _: np.isnan(x)),
        "isinf": _test(_isinf),
        "cast": _cast,
        "bitcast": _bitcast,
    }
)
