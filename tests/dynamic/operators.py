"""Drawers of operator calls: each adds one call, or a few, to a scope.

What does not fit raises `Nothing`, or `DataError` from the evaluation here, and another is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import numpy as np

from tests.dynamic.drawing import FLOATS, INTEGERS, Nothing, Scope
from tests.dynamic.program import Array, dtype_name

Drawer: TypeAlias = "Callable[[Scope], object]"

NUMBERS: Final = (*FLOATS, *INTEGERS)


def unary(scope: Scope) -> None:
    op = scope.rng.choice(("negative", "abs", "square", "relu", "sign", "identity"))
    scope.call(op, [scope.tensor(NUMBERS)])


def transcendental(scope: Scope) -> None:
    scope.call(scope.rng.choice(("tanh", "exp", "sigmoid", "erf", "sin")), [scope.tensor(FLOATS)])


def binary(scope: Scope) -> None:
    x = scope.tensor(NUMBERS)
    y = scope.tensor(fits=lambda v: v.dtype == scope.value(x).dtype)
    op = scope.rng.choice(("add", "subtract", "multiply", "maximum", "minimum"))
    scope.call(op, [x, y] if scope.rng.random() < 0.5 else [y, x])


def compared(scope: Scope) -> None:
    x = scope.tensor(NUMBERS)
    y = scope.tensor(fits=lambda v: v.dtype == scope.value(x).dtype)
    scope.call(scope.rng.choice(("less", "greater_equal", "equal", "not_equal")), [x, y])


def chosen(scope: Scope) -> None:
    x = scope.tensor(NUMBERS)
    y = scope.tensor(fits=lambda v: v.dtype == scope.value(x).dtype)
    scope.call("where", [scope.tensor(("bool",)), x, y])


def cast(scope: Scope) -> None:
    scope.call("cast", [scope.tensor()], {"to": scope.rng.choice((*NUMBERS, "bool"))})


def folded(scope: Scope) -> None:
    op = scope.rng.choice(("sum", "max", "min", "prod", "mean", "any", "all"))
    dtypes = ("bool",) if op in ("any", "all") else FLOATS if op == "mean" else NUMBERS
    x = scope.tensor(dtypes)
    rank = scope.value(x).ndim
    axes = tuple(sorted(scope.rng.sample(range(rank), scope.rng.randint(0, rank))))
    axis = None if scope.rng.random() < 0.3 else axes
    scope.call(op, [x], {"axis": axis, "keepdims": scope.rng.random() < 0.4})


def placed_extreme(scope: Scope) -> None:
    x, axis = _with_axis(scope, NUMBERS)
    scope.call(scope.rng.choice(("argmax", "argmin")), [x], {"axis": axis})


def running(scope: Scope) -> None:
    x, axis = _with_axis(scope, NUMBERS)
    attrs = {"axis": axis, "reverse": scope.rng.random() < 0.5}
    scope.call("cumulative_sum", [x], attrs)


def soft(scope: Scope) -> None:
    x, axis = _with_axis(scope, ("f32",))
    scope.call(scope.rng.choice(("softmax", "log_softmax")), [x], {"axis": axis})


def multiplied(scope: Scope) -> None:
    x = scope.tensor(("f32", "f64"), (1, 2, 3))
    last = scope.value(x).shape[-1]
    y = scope.tensor(
        fits=lambda v: (
            v.ndim in (1, 2)
            and v.dtype == scope.value(x).dtype
            and v.shape[-2 if v.ndim == 2 else -1] == last
        )
    )
    scope.call("matmul", [x, y])


def turned(scope: Scope) -> None:
    x = scope.tensor(ranks=(2, 3))
    axes = list(range(scope.value(x).ndim))
    scope.rng.shuffle(axes)
    if scope.rng.random() < 0.5:
        scope.call("permute_dims", [x], {"axes": tuple(axes)})
    else:
        scope.call("flip", [x], {"axes": tuple(axes[:1])})


def joined(scope: Scope) -> None:
    x, axis = _with_axis(scope)
    shape, dtype = scope.value(x).shape, scope.value(x).dtype

    def fits(v: Array) -> bool:
        same = v.ndim == len(shape) and v.dtype == dtype
        return same and all(
            a == b for i, (a, b) in enumerate(zip(v.shape, shape, strict=True)) if i != axis
        )

    scope.call("concat", [x, scope.tensor(fits=fits)], {"axis": axis})


def divided(scope: Scope) -> None:
    x, axis = _with_axis(scope)
    count = scope.rng.choice((2, 3))
    scope.calls("split", [x], {"axis": axis, "num_outputs": count})


def stretched(scope: Scope) -> None:
    """A view with one axis more or one of size 1 less."""
    x = scope.tensor(ranks=(0, 1, 2))
    ones = [i for i, d in enumerate(scope.value(x).shape) if d == 1]
    if ones and scope.rng.random() < 0.5:
        scope.call("squeeze", [x], {"axes": (scope.rng.choice(ones),)})
    else:
        scope.call("expand_dims", [x], {"axes": (scope.rng.choice((0, -1)),)})


# --- shapes that the run tells ----------------------------------------------------------------


def reshaped(scope: Scope) -> None:
    """To a target that is computed from another shape, or given as constants."""
    x = scope.tensor(ranks=(1, 2, 3))
    size = scope.value(x).size
    if scope.rng.random() < 0.4:
        first = scope.rng.choice([d for d in range(1, 9) if size % d == 0])
        scope.call("reshape", [x, scope.integers(first, -1)])
        return
    like = scope.tensor(fits=lambda v: v.size == size and v.ndim > 0)
    target = scope.call("shape_of", [like])
    if scope.rng.random() < 0.5:
        target = scope.call("shape_to_tensor", [target])
    attrs = {"allow_zero": True} if 0 in scope.value(like).shape else {}
    scope.call("reshape", [x, target], attrs)


def spread(scope: Scope) -> None:
    x = scope.tensor(ranks=(0, 1, 2))
    like = scope.tensor(ranks=(1, 2))
    target = scope.call("shape_of", [like])
    scope.call(scope.rng.choice(("broadcast_to", "expand")), [x, target])


def sliced(scope: Scope) -> None:
    """With bounds that are computed: from a size, or from data."""
    x = scope.tensor(ranks=(1, 2))
    start = scope.integers(scope.rng.choice((0, 1, -2)))
    end = _vector(scope, scope.tensor(("i64",), (0, 1), lambda v: v.size == 1))
    axis = scope.integers(scope.rng.randrange(scope.value(x).ndim))
    step = scope.integers(scope.rng.choice((1, 1, 2, -1)))
    scope.call("slice", [x, start, end, axis, step])


def padded(scope: Scope) -> None:
    x = scope.tensor(("f32", "i64"), (1, 2))
    rank = scope.value(x).ndim
    pads = scope.integers(*(scope.rng.choice((0, 1, 2)) for _ in range(2 * rank)))
    scope.call("pad", [x, pads])


def repeated(scope: Scope) -> None:
    x = scope.tensor(ranks=(1, 2), fits=lambda v: v.size < 256)
    reps = scope.integers(*(scope.rng.choice((0, 1, 2, 3)) for _ in range(scope.value(x).ndim)))
    scope.call("tile", [x, reps])


def filled(scope: Scope) -> None:
    """A tensor of a shape that another one has."""
    target = scope.call("shape_of", [scope.tensor(ranks=(0, 1, 2))])
    scope.call("full", [target, scope.tensor(ranks=(0,))])


def counted(scope: Scope) -> None:
    """The numbers up to a size, or to a number in the data."""
    if scope.rng.random() < 0.5:
        stop = scope.call("size_of", [scope.tensor(ranks=(1, 2))])
    else:
        stop = scope.tensor(("i64",), (0,), lambda v: 0 <= v.item() < 64)
    zero, one = scope.integers(0, rank=0), scope.integers(1, rank=0)
    scope.call("arange", [zero, stop, one])


def hot(scope: Scope) -> None:
    x = scope.tensor(("i64",), (0, 1), lambda v: v.size < 32)
    depth = scope.tensor(("i64",), (0,), lambda v: 0 < v.item() < 16)
    values = scope.constant(np.array([0.0, 1.0], np.float32), "f32")
    scope.call("one_hot", [x, depth, values])


def taken(scope: Scope) -> None:
    x, axis = _with_axis(scope)
    size = scope.value(x).shape[axis]
    i = scope.tensor(("i64",), (0, 1, 2), lambda v: bool(np.all((v < size) & (v >= -size))))
    scope.call("take", [x, i], {"axis": axis})


# --- shapes that the elements tell ------------------------------------------------------------


def found(scope: Scope) -> None:
    x = scope.tensor(fits=lambda v: v.size < 512)
    where = scope.call("nonzero", [x])
    if scope.value(x).ndim == 1 and scope.rng.random() < 0.5:
        row = scope.call("squeeze", [where], {"axes": (0,)})
        scope.call("take", [x, row], {"axis": 0})


def kept(scope: Scope) -> None:
    x, axis = _with_axis(scope)
    size = scope.value(x).shape[axis]
    numbers = scope.tensor(("f32", "i64"), (1,), lambda v: v.size <= size)
    zero = scope.constant(np.array(0, scope.value(numbers).dtype), _dtype(scope, numbers))
    mask = scope.call(scope.rng.choice(("less", "not_equal")), [numbers, zero])
    scope.call("compress", [x, mask], {"axis": axis})


def distinct(scope: Scope) -> None:
    scope.calls("unique", [scope.tensor(NUMBERS, fits=lambda v: v.size < 512)])


def greatest(scope: Scope) -> None:
    x, axis = _with_axis(scope, NUMBERS)
    size = scope.value(x).shape[axis]
    k = _vector(
        scope, scope.tensor(("i64",), (0, 1), lambda v: v.size == 1 and 0 <= v.item() <= size)
    )
    scope.calls("top_k", [x, k], {"axis": axis, "largest": scope.rng.random() < 0.5})


def _with_axis(scope: Scope, dtypes: tuple[str, ...] = ()) -> tuple[str, int]:
    x = scope.tensor(dtypes, (1, 2, 3))
    return x, scope.rng.randrange(scope.value(x).ndim)


def _vector(scope: Scope, number: str) -> str:
    """Return one integer as a vector, which it may be already."""
    if scope.value(number).ndim:
        return number
    return scope.call("expand_dims", [number], {"axes": (0,)})


DRAWERS: Final[Mapping[Drawer, int]] = {
    unary: 4,
    transcendental: 3,
    binary: 8,
    compared: 3,
    chosen: 3,
    cast: 2,
    folded: 4,
    placed_extreme: 1,
    running: 2,
    soft: 2,
    multiplied: 2,
    turned: 2,
    joined: 3,
    divided: 2,
    stretched: 2,
    reshaped: 4,
    spread: 2,
    sliced: 3,
    padded: 2,
    repeated: 2,
    filled: 2,
    counted: 2,
    hot: 1,
    taken: 3,
    found: 3,
    kept: 3,
    distinct: 2,
    greatest: 2,
}
"""How likely each is."""


# --- calls whose data are at fault ------------------------------------------------------------


def beyond(scope: Scope) -> None:
    """An index out of range."""
    x, axis = _with_axis(scope)
    index = scope.integers(scope.value(x).shape[axis])
    scope.call("take", [x, index], {"axis": axis}, f"{_dtype(scope, x)}[...]")


def misfit(scope: Scope) -> None:
    """Two sizes that do not broadcast, though nothing says so before the run."""
    x = scope.tensor(("f32",), (1,), lambda v: v.size > 1)
    doubled = scope.call("concat", [x, x], {"axis": 0})
    scope.call("add", [x, doubled], ends_as="f32[...]")


def unfilled(scope: Scope) -> None:
    """A reshape to another number of elements."""
    x = scope.tensor(ranks=(1, 2), fits=lambda v: v.size > 0)
    size = scope.call("size_of", [x])
    more = scope.call("add", [size, scope.integers(1, rank=0)])
    scope.call("reshape", [x, _vector(scope, more)], ends_as=f"{_dtype(scope, x)}[...]")


def divided_by_nothing(scope: Scope) -> None:
    x = scope.tensor(("i64",), (1, 2), lambda v: v.size > 0)
    zeros = scope.call("subtract", [x, x])
    scope.call("floor_divide", [x, zeros], ends_as="i64[...]")


def too_many(scope: Scope) -> None:
    """More of the greatest than there are elements."""
    x = scope.tensor(("f32",), (1,))
    more = scope.call("add", [scope.call("size_of", [x]), scope.integers(1, rank=0)])
    scope.call("top_k", [x, more], ends_as="(f32[...], i64[...])")


def _dtype(scope: Scope, name: str) -> str:
    return dtype_name(scope.value(name))


FAULTS: Final[tuple[Drawer, ...]] = (beyond, misfit, unfilled, divided_by_nothing, too_many)
"""Each ends the run with an error, at the last call that it adds."""

__all__ = ["DRAWERS", "FAULTS", "Drawer", "Nothing"]
