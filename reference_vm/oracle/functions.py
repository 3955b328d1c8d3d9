"""What functions of one operand mean: roots, exponentials, activations, rounding, casts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.arithmetic import may_be_zero
from reference_vm.oracle.definition import Meaning, Operands, between, exactly
from reference_vm.oracle.estimate import (
    ANYWHERE,
    FRACTION,
    NOT_NEGATIVE,
    WITHIN_ONE,
    Estimate,
    Limits,
    Wide,
    finite_unless_undecided,
    unit,
)
from reference_vm.types import Attrs
from reference_vm.types.dtype import BOOL

Curve = Callable[[Wide, Attrs], Wide]
Edge = Callable[[Wide, Wide], Wide]
"""From the least and the greatest that operands may be to where a domain may end between them."""

ULPS: Final = 2.0
"""What a transcendental function may be off, in units in the last place."""


def _spread(curve: Curve, x: Estimate, attrs: Attrs, value: Wide) -> Wide:
    """Return how far a function that rises or falls throughout can move within the error."""
    low, high = x.ends()
    up, down = np.abs(curve(high, attrs) - value), np.abs(curve(low, attrs) - value)
    return finite_unless_undecided(np.fmax(up, down), value, x.errors)


def smooth(
    curve: Curve,
    *,
    ulps: float = ULPS,
    steepness: float | None = None,
    absolute: Callable[[Wide, Wide], Wide] | None = None,
    edge: Edge | None = None,
    steps: bool = False,
    rounded: bool = True,
    limits: Limits = ANYWHERE,
) -> Meaning:
    """Return the meaning of a function of one float.

    Args:
        curve: The function in higher precision.
        ulps: The error it may make, in units in the last place of its result; 0 if rounded right.
        steepness: The greatest slope of a function that is not monotone; ``None`` if it is.
        absolute: From operand and result to a size of which one unit roundoff is allowed too,
            for formulas that cancel.
        edge: Where operands between two ends may be over the end of the domain, or at a pole.
        steps: Whether it has steps, over which an error may reach.
        rounded: Whether its result is rounded at the end, and not moved.
        limits: What no result lies beyond.
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

            def over() -> Wide:
                assert edge is not None
                return call.open_where((x.errors > 0) & edge(*x.ends()))

            def step() -> Wide:
                ends = (np.asarray(curve(end, call.attrs)) for end in x.ends())
                return call.step_between(value, *ends) * _jumps(curve, x, call.attrs)

            noted = x.error is not None
            return call.rounding.result(
                value,
                x.dtype,
                own=own,
                propagated=propagated if noted else None,
                open_at=over if noted and edge else None,
                jump=step if noted and steps else None,
                rounded=rounded,
                limits=limits,
            )

    return meaning


def _jumps(curve: Curve, x: Estimate, attrs: Attrs) -> Wide:
    """Return where a function of slope 1 at most rises by more than that between the ends."""
    low, high = x.ends()
    risen = np.abs(np.asarray(curve(high, attrs)) - np.asarray(curve(low, attrs)))
    return np.asarray(risen > (high - low) * (1 + 2.0**-20))


def _integers(call: Operands, curve: Curve) -> Estimate:
    x = call[0]
    with np.errstate(all="ignore"):
        value = np.asarray(curve(x.value, call.attrs)).astype(x.value.dtype)
        if x.error is None:
            return Estimate(value, None, call.dtype)
        ends = [end.astype(np.float64) for end in x.ends()]
        moved = between(value, *(np.asarray(curve(end, call.attrs)) for end in ends))
    wraps = np.maximum(*map(np.abs, ends)) > np.sqrt(float(x.dtype.maximum))
    return exactly(call, value, np.where(wraps & (x.errors > 0), np.inf, moved), call.dtype)


def _exact(
    curve: Curve,
    limits: Callable[[Limits], Limits] = lambda _: ANYWHERE,
    levels: bool = False,
) -> Meaning:
    """Return the meaning of a function that every device computes to the bit, slope at most 1.

    ``levels`` says that it rises throughout and is level somewhere: errors end there.
    """

    def meaning(call: Operands) -> Estimate:
        x = call[0]
        with np.errstate(all="ignore"):
            value = np.asarray(curve(x.value, call.attrs))
            if not x.dtype.is_float:
                return exactly(call, value, x.error, x.dtype)
            error = x.error
            if levels and error is not None and not call.rounding.is_random:
                error = np.minimum(error, _spread(curve, x, call.attrs, value) * (1 + 2.0**-50))
        return call.rounding.exact(value, error, x.dtype, limits(x.span))

    return meaning


def _of_sizes(limits: Limits) -> Limits:
    """Return the limits of magnitudes."""
    return (max(0.0, limits[0], -limits[1]), max(abs(limits[0]), abs(limits[1])))


def _kept(limits: Limits) -> Limits:
    return limits


def _rectified(limits: Limits) -> Limits:
    return (max(0.0, limits[0]), max(0.0, limits[1]))


def _negated(limits: Limits) -> Limits:
    return (-limits[1], -limits[0])


def _step(curve: Callable[[Wide], Wide]) -> Meaning:
    """Return the meaning of floor, ceil and round: a decision where the operand may be off."""

    def meaning(call: Operands) -> Estimate:
        x = call[0]
        if not x.dtype.is_float:
            return call.rounding.exact(x.value, x.error, x.dtype)
        low, high = x.ends()
        return call.decide_between(np.asarray(curve(x.value)), curve(low), curve(high), x.dtype)

    return meaning


def _sign(call: Operands) -> Estimate:
    x = call[0]
    low, high = (np.sign(end) for end in x.ends())
    return call.decide_between(np.asarray(np.sign(x.value)), low, high, x.dtype)


def _test(curve: Callable[[Wide, Attrs], Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x = call[0]
        open_ = None if x.error is None else np.where(np.isinf(x.error), -1.0, 1.0)
        return call.decide(np.asarray(curve(x.value, call.attrs)), open_, BOOL)

    return meaning


def _isinf(x: Wide, attrs: Attrs) -> Wide:
    up = np.isposinf(x) & bool(attrs["detect_positive"])
    down = np.isneginf(x) & bool(attrs["detect_negative"])
    return np.asarray(up | down)


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
        error = np.abs(slope.value) * x.errors + x.errors
        error = error + (np.abs(x.value) + x.errors) * slope.errors

    def unlike() -> Wide:
        """Return where the slope is no number, and it is open whether it is taken."""
        low, high = x.ends()
        crosses = (low < 0) & (high >= 0) & (low != high) & ~np.isfinite(slope.value)
        endless = np.isneginf(x.value) & may_be_zero(slope) & (slope.errors > 0)
        return call.open_where(crosses | endless)

    return call.rounding.result(
        value,
        x.dtype,
        own=np.zeros(value.shape),
        propagated=lambda: np.asarray(error),
        open_at=unlike if call.has_errors else None,
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


_NOT_NEGATIVE: Final = ("exp", "cosh", "arccos", "arccosh")
_WITHIN_ONE: Final = ("tanh",)
_TRANSCENDENTAL: Final = (
    *("exp", "log", "tan", "sinh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh"),
    "arctanh",
)


def _below(end: float, low: Wide, high: Wide) -> Wide:
    """Return where operands may be on either side of the least of a domain."""
    return np.asarray((low < end) & (high >= end))


def _beyond_one(low: Wide, high: Wide) -> Wide:
    return _below(-1.0, low, high) | np.asarray((high > 1) & (low <= 1))


def _at_zero(low: Wide, high: Wide) -> Wide:
    return np.asarray((low <= 0) & (high >= 0))


def _at_one(low: Wide, high: Wide) -> Wide:
    """Return where operands may be 1 or -1, or beyond: there the function is infinite, or NaN."""
    return np.asarray(((low <= -1) & (high >= -1)) | ((high >= 1) & (low <= 1)))


def _at_a_pole(low: Wide, high: Wide) -> Wide:
    """Return where the tangent may have a pole."""
    return np.asarray(np.floor(low / np.pi + 0.5) != np.floor(high / np.pi + 0.5))


_EDGES: Final[Mapping[str, Edge]] = MappingProxyType(
    {
        "log": _at_zero,
        "tan": _at_a_pole,
        "arcsin": _beyond_one,
        "arccos": _beyond_one,
        "arccosh": lambda low, high: _below(1.0, low, high),
        "arctanh": _at_one,
    }
)


def _transcendental(name: str) -> Meaning:
    limits = NOT_NEGATIVE if name in _NOT_NEGATIVE else ANYWHERE
    limits = WITHIN_ONE if name in _WITHIN_ONE else limits
    return smooth(_plain(getattr(np, name)), edge=_EDGES.get(name), limits=limits)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        **{n.replace("arc", "a"): _transcendental(n) for n in _TRANSCENDENTAL},
        "sin": smooth(_plain(np.sin), steepness=1.0, limits=WITHIN_ONE),
        "cos": smooth(_plain(np.cos), steepness=1.0, limits=WITHIN_ONE),
        "cosh": smooth(lambda x, _: np.cosh(x), limits=NOT_NEGATIVE),
        "erf": smooth(_erf, limits=WITHIN_ONE),
        "sqrt": smooth(
            _plain(np.sqrt),
            ulps=0,
            edge=lambda low, high: _below(0.0, low, high),
            limits=NOT_NEGATIVE,
        ),
        "square": smooth(lambda x, _: x * x, ulps=0, limits=NOT_NEGATIVE),
        "reciprocal": smooth(lambda x, _: 1 / x, ulps=0, edge=_at_zero),
        "sigmoid": smooth(_sigmoid, ulps=4, limits=FRACTION),
        "softplus": smooth(_softplus, ulps=4, absolute=_one, limits=NOT_NEGATIVE),
        "softsign": smooth(lambda x, _: x / (1 + np.abs(x)), ulps=2, limits=WITHIN_ONE),
        "gelu": smooth(_gelu, ulps=6, steepness=1.13, absolute=lambda x, _: 4 * np.abs(x)),
        "mish": smooth(
            lambda x, a: x * np.tanh(_softplus(x, a)), ulps=8, steepness=1.1, absolute=_size
        ),
        "elu": smooth(_elu, ulps=4, absolute=_two),
        "selu": smooth(_selu, ulps=4, absolute=lambda x, r: 2 * _two(x, r)),
        "celu": smooth(_celu, ulps=4, absolute=_two),
        "leaky_relu": smooth(_leaky, ulps=1),
        "hard_sigmoid": smooth(_hard_sigmoid, ulps=2, absolute=_one, limits=FRACTION),
        "hard_swish": smooth(_hard_swish, ulps=3, steepness=1.5, absolute=_size),
        "thresholded_relu": smooth(
            lambda x, a: np.where(x > a["alpha"], x, 0.0), ulps=0, rounded=False, steps=True
        ),
        "shrink": smooth(_shrink, ulps=1, steps=True),
        "prelu": _prelu,
        "relu": _exact(lambda x, _: np.maximum(x, 0), _rectified, levels=True),
        "abs": _exact(lambda x, _: np.abs(x), _of_sizes),
        "negative": _exact(lambda x, _: np.negative(x), _negated),
        "identity": _exact(lambda x, _: x, _kept),
        "bitwise_invert": _exact(lambda x, _: np.invert(x)),
        "floor": _step(np.floor),
        "ceil": _step(np.ceil),
        "round": _step(np.rint),
        "sign": _sign,
        "isnan": _test(lambda x, _: np.isnan(x)),
        "isinf": _test(_isinf),
    }
)
