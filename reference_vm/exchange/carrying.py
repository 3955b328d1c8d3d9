"""The types of what a loop carries from one trip to the next.

A dim stays what it is at the start if every trip leaves it so; one that may change is a symbol of
the loop's function, bound anew on each trip, and unknown afterwards. For a loop that starts from
``f32[n, 0]`` and appends to the last axis, the parameter is ``f32[n, d0]`` and the result is
``f32[n, ?]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from reference_vm.exchange.value_types import Symbols
from reference_vm.types import UNKNOWN, Dim, TensorType
from reference_vm.types.dim import Unknown


@final
@dataclass(frozen=True, slots=True)
class Carried:
    """The type of one value that a loop carries."""

    param: TensorType
    varying: frozenset[int] = frozenset()
    """The axes whose dims may change from trip to trip."""

    @property
    def result(self) -> TensorType:
        """What the loop leaves, in terms of what it starts from."""
        if self.param.shape is None:
            return self.param
        dims = enumerate(self.param.shape)
        shape = tuple(UNKNOWN if axis in self.varying else dim for axis, dim in dims)
        return TensorType(self.param.dtype, shape)


def carried(start: TensorType, symbols: Symbols) -> Carried:
    """Return the type for a value of which only the start is known."""
    if start.shape is None:
        return Carried(start)
    dims = (symbols.fresh() if isinstance(d, Unknown) else d for d in start.shape)
    return Carried(TensorType(start.dtype, tuple(dims)))


def widened(known: Carried, found: TensorType, symbols: Symbols) -> Carried:
    """Return the type that holds both what is ``known`` and what a trip leaves, ``found``."""
    shape = known.param.shape
    if shape is None:
        return known
    if found.shape is None or len(found.shape) != len(shape):
        return Carried(TensorType(known.param.dtype, None))
    pairs = enumerate(zip(shape, found.shape, strict=True))
    changed = {axis for axis, (old, new) in pairs if old != new} - known.varying
    if not changed:
        return known
    dims: list[Dim] = [symbols.fresh() if i in changed else d for i, d in enumerate(shape)]
    return Carried(TensorType(known.param.dtype, tuple(dims)), known.varying | changed)


__all__ = ["Carried", "carried", "widened"]
