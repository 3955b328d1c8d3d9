"""What an operand may be off is in the bound on the result, for every operator and every operand.

Operands are given an error; then each is moved, at most by that, and the operator is evaluated on
what came of it, exactly. The result may not be further off than the bound says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError, DataError
from reference_vm.ops.catalog import OPS
from reference_vm.oracle.definition import Operands
from reference_vm.oracle.estimate import VAST, Estimate, Result
from reference_vm.oracle.opening import meaning_of
from reference_vm.oracle.rounding import Rounding
from reference_vm.types import Attrs
from reference_vm.types.arrays import from_numpy
from tests.property import grid_cells
from tests.property.grid_cells import Cell

Array = np.ndarray[Any, np.dtype[Any]]

MOST = 24
"""Cells of an operator that are tried, and in how many ways each is moved."""

MOVES = 6
LARGEST = 4096


@dataclass(frozen=True)
class Moved:
    """Operands that may be off, and one way in which they are."""

    estimates: list[Result | None]
    exact: list[Result | None]


def _cells(name: str) -> list[Cell]:
    found = [c for c in grid_cells.cells(OPS[name]) if _size(c) <= LARGEST]
    chosen = np.random.default_rng(len(name)).permutation(len(found))[:MOST]
    return [found[int(i)] for i in sorted(chosen)]


def _size(cell: Cell) -> int:
    return max((o.size for o in cell.operands if isinstance(o, np.ndarray)), default=0)


def _plain_size(cell: Cell) -> float:
    """Return the greatest size of the operands' plain numbers, by which f64 rounds their sums."""
    sizes = [
        np.abs(o.astype(np.float64)) for o in cell.operands if isinstance(o, np.ndarray) and o.size
    ]
    return max((float(np.max(s, initial=0.0, where=s < 1e6)) for s in sizes), default=0.0)


def _given(operand: Any) -> Result | None:
    if operand is None or isinstance(operand, tuple):
        return operand
    return Estimate.exact(operand, from_numpy(operand.dtype))


def _errors(x: Estimate, chosen: np.random.Generator) -> Array:
    """Return errors of about a hundredth of the value at most, none for some elements."""
    some = chosen.random(x.value.shape) < 0.7
    if x.dtype.is_bool:
        return np.where(some, np.inf, 0.0)
    if not x.dtype.is_float:
        return np.where(some, chosen.integers(1, 3, x.value.shape), 0).astype(np.float64)
    size = np.where(np.isfinite(x.value), np.abs(x.value), 0.0).astype(np.float64)
    if chosen.random() < 0.2:  # anything may be there
        return np.where(chosen.random(x.value.shape) < 0.3, np.inf, 0.0)
    part = chosen.choice([1e-9, 1e-6, 1e-3])
    near = float(chosen.choice([0.0, 1e-6, 1e-3])) * min(x.scale, 1.0)
    return np.where(some & np.isfinite(x.value), part * size + near, 0.0)


def _shifted(x: Estimate, errors: Array, chosen: np.random.Generator) -> Estimate:
    """Return one of the values that ``x`` may be, exactly; its ends are likely."""
    if x.dtype.is_bool:
        flipped = np.isinf(errors) & (chosen.random(errors.shape) < 0.5)
        return Estimate(np.where(flipped, ~x.value, x.value), None, x.dtype)
    if not x.dtype.is_float:
        step = np.rint(errors * chosen.integers(-1, 2, errors.shape)).astype(np.int64)
        low, high = x.dtype.minimum, x.dtype.maximum
        moved = np.clip(x.value.astype(object) + step.astype(object), low, high)
        value = np.asarray(moved, object).astype(x.value.dtype)
        return Estimate(value, None, x.dtype)
    if np.any(np.isinf(errors)):
        anything = chosen.choice([np.nan, np.inf, -np.inf, 0.0, 7.5, -3.0], errors.shape)
        return Estimate(np.where(np.isinf(errors), anything, x.value), None, x.dtype)
    part = chosen.choice([-1.0, 1.0, 0.0, 0.3, -0.7], errors.shape)
    return Estimate(x.value + part * errors, None, x.dtype)


def _meaning(cell: Cell, args: list[Result | None], attrs: Attrs) -> tuple[Result, Rounding]:
    rounding = Rounding(keeps_noise=False)
    rounding.at(0)
    with np.errstate(all="ignore"):
        return meaning_of(cell.op.name, Operands(tuple(args), attrs, rounding)), rounding


def _leaves(result: Result) -> list[Estimate]:
    parts = result if isinstance(result, tuple) else (result,)
    return [part for part in parts if isinstance(part, Estimate)]


def _movable(cell: Cell) -> list[int]:
    return [
        index
        for index, operand in enumerate(cell.operands)
        if isinstance(operand, np.ndarray) and operand.size and not cell.is_host(index)
    ]


def _misses(cell: Cell, chosen: np.random.Generator) -> Iterator[str]:
    try:
        attrs = cell.infer([True] * len(cell.operands)).attrs
        given = [_given(operand) for operand in cell.operands]
        _meaning(cell, given, attrs)
    except (CompileError, DataError):
        return
    for moving in [*([index] for index in _movable(cell)), _movable(cell)]:
        estimates, exact = list(given), list(given)
        errors: dict[int, Array] = {}
        for index in moving:
            x = given[index]
            assert isinstance(x, Estimate)
            errors[index] = _errors(x, chosen)
            estimates[index] = Estimate(x.value, errors[index], x.dtype)
        try:
            bound, rounding = _meaning(cell, estimates, attrs)
        except (CompileError, DataError):
            continue
        if rounding.unsure:
            continue
        for _ in range(MOVES):
            for index in moving:
                x = given[index]
                assert isinstance(x, Estimate)
                exact[index] = _shifted(x, errors[index], chosen)
            try:
                found, _ = _meaning(cell, exact, attrs)
            except (CompileError, DataError, IndexError):  # indices were moved out of range
                continue
            yield from _beyond(cell, moving, bound, found)


def _beyond(cell: Cell, moving: list[int], bound: Result, found: Result) -> Iterator[str]:
    for part, (one, other) in enumerate(zip(_leaves(bound), _leaves(found), strict=True)):
        where = f"{cell}, operands {moving} moved, result {part}"
        if one.value.shape != other.value.shape:
            if not np.all(np.isinf(one.errors)):
                yield f"{where}: shape {other.value.shape}, said to be {one.value.shape}"
            continue
        with np.errstate(all="ignore"):
            a, b = one.value.astype(np.longdouble), other.value.astype(np.longdouble)
            apart = np.abs(a - b)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            slack = 1e-9 * np.maximum(np.abs(a), np.abs(b)) + 1e-11 * _plain_size(cell)
            beyond = ~same & ~(apart <= one.errors * (1 + 1e-6) + slack)
            beyond &= (one.errors < VAST) & ~np.isinf(other.errors)
        if np.any(beyond):
            place = tuple(int(i) for i in np.argwhere(beyond)[0])
            yield (
                f"{where}{list(place)}: {float(b[place])!r}, said to be {float(a[place])!r} "
                f"within {float(one.errors[place]):.3g}"
            )


@pytest.mark.parametrize("name", OPS)
def test_the_bound_holds_what_moved_operands_make(name: str) -> None:
    chosen = np.random.default_rng(11)
    found = [miss for cell in _cells(name) for miss in _misses(cell, chosen)]
    assert not found, f"{len(found)}:\n" + "\n".join(found[:10])
