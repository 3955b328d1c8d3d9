"""What storing by index means: updates combine with what is there in the order in which they stand.

Indices lie in [-size, size - 1]; anything else is a `DataError`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands, exactly
from reference_vm.oracle.estimate import Estimate, Wide, unit
from reference_vm.oracle.indexing import nd_index, normal

ROUNDS: Final = 64
"""Updates of one place up to which their rounding errors are followed one after the other."""

_COMBINE: Final[Mapping[str, Any]] = MappingProxyType(
    {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
)


@final
@dataclass(frozen=True)
class _Updates:
    """Which rows of the operand are updated, in order."""

    targets: Wide
    """The number of a row, for each update."""

    rows: int
    doubt: bool
    """Whether an index may be another one."""


def _scatter(call: Operands, updates: _Updates) -> Estimate:
    x, new = call[0], call[2]
    shape = (updates.rows, x.value.size // max(1, updates.rows))
    old, value = x.value.reshape(shape), new.value.reshape(updates.targets.size, shape[1])
    reduction = str(call.attrs["reduction"])
    with np.errstate(all="ignore"):
        made = _combined(reduction, old, updates.targets, value).reshape(x.value.shape)
        error: Wide | None = None
        if call.has_errors:
            error = _errors(reduction, x, new, updates, shape).reshape(x.value.shape)
        if not x.dtype.is_float:
            return exactly(call, made, error, x.dtype)
        if reduction not in ("add", "mul"):
            return call.rounding.exact(made, error, x.dtype)
        if call.rounding.is_random:
            return call.rounding.result(made, x.dtype, own=np.zeros(()))
        own = _own(x, reduction, old, updates.targets, value).reshape(x.value.shape)
        moves = None if error is None else (lambda: error)
        return call.rounding.result(made, x.dtype, own=own, propagated=moves, rounded=False)


def _combined(reduction: str, old: Wide, targets: Wide, new: Wide) -> Wide:
    made = old.copy()
    if reduction == "none":
        made[targets] = new  # of several updates of one place the last one stays
    else:
        _COMBINE[reduction].at(made, targets, new)
    return np.asarray(made)


def _errors(
    reduction: str, x: Estimate, new: Estimate, updates: _Updates, shape: tuple[int, int]
) -> Wide:
    """Return what the operands' errors become."""
    targets, each = updates.targets, (updates.targets.size, shape[1])
    if updates.doubt:
        return np.full(shape, np.inf)
    off, newer = x.errors.reshape(shape), new.errors.reshape(each)
    if reduction == "none":
        return _combined("none", off, targets, newer)
    if reduction == "add":
        return _combined("add", off, targets, newer)
    if reduction in ("max", "min"):
        return _combined("max", off, targets, newer)
    sizes = np.abs(x.value.astype(np.float64)).reshape(shape)
    factors = np.abs(new.value.astype(np.float64)).reshape(each)
    grown = _combined("mul", sizes + off, targets, factors + newer)
    difference = grown * (1 + 2.0**-40) - _combined("mul", sizes, targets, factors)
    touched = _combined("add", off, targets, newer) > 0
    return np.where(touched, np.nan_to_num(difference, nan=np.inf, posinf=np.inf), 0.0)


def _own(x: Estimate, reduction: str, old: Wide, targets: Wide, new: Wide) -> Wide:
    """Return the rounding errors of combining, each step rounded to the dtype."""
    step = max(unit(x.dtype), x.dtype.unit_roundoff)
    counts = np.bincount(targets, minlength=len(old))
    if counts.size and int(np.max(counts)) > ROUNDS:
        sizes = _combined(reduction, np.abs(old), targets, np.abs(new))
        return np.asarray(np.where(np.isfinite(sizes), sizes, 0.0) * (counts * step)[:, None])
    made, own = old.copy(), np.zeros(old.shape)
    for chosen in _rounds(targets):
        places = targets[chosen]
        made[places] = _COMBINE[reduction](made[places], new[chosen])
        kept = own[places] if reduction == "add" else own[places] * np.abs(new[chosen])
        size = np.abs(made[places])
        own[places] = kept + np.where(np.isfinite(size), size, 0.0) * step
    return own


def _rounds(targets: Wide) -> Iterator[Wide]:
    """Yield the updates, the first of each place, then the second of each, and so on."""
    order = np.argsort(targets, kind="stable")
    ordered = targets[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sizes = np.diff(starts, append=len(ordered))
    rank = np.arange(len(ordered)) - np.repeat(starts, sizes)
    by_rank = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank)).tolist() if len(rank) else []
    for start, end in itertools.pairwise([0, *ends]):
        yield order[by_rank[start:end]]


def _scatter_elements(call: Operands) -> Estimate:
    x, indices = call[0].value, call[1].value
    axis = int(call.attrs["axis"]) % x.ndim
    places: list[Wide] = list(np.indices(indices.shape, sparse=True))
    places[axis] = normal("scatter_elements", indices, x.shape[axis])
    return _scatter(call, _updates(call, np.broadcast_arrays(*places), x.shape))


def _scatter_nd(call: Operands) -> Estimate:
    x, indices = call[0].value, call[1].value
    parts = nd_index("scatter_nd", indices, x.shape, 0)
    return _scatter(call, _updates(call, parts, x.shape[: indices.shape[-1]]))


def _updates(call: Operands, parts: Sequence[Wide], shape: tuple[int, ...]) -> _Updates:
    rows = int(np.prod(shape, dtype=np.int64))
    doubt = call[1].error is not None and bool(np.any(call[1].error))
    if not shape:
        count = int(np.prod(call[1].value.shape[:-1], dtype=np.int64))
        return _Updates(np.zeros(count, np.int64), rows, doubt)
    strides = np.cumprod([1, *shape[:0:-1]])[::-1]
    flat = sum(p.astype(np.int64) * int(s) for p, s in zip(parts, strides, strict=True))
    return _Updates(np.ravel(np.asarray(flat)), rows, doubt)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {"scatter_elements": _scatter_elements, "scatter_nd": _scatter_nd}
)
