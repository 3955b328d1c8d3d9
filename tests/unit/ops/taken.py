"""Which dtypes the type rule of an operator takes: its sample calls are tried with each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from reference_vm.ops.definition import OpDef
from reference_vm.types import DType
from reference_vm.types.arrays import from_numpy
from reference_vm.types.dtype import COMPUTED, FLOATS, INTEGERS
from tests.property.grid_cells import Cell, cells, filled

_GROUPS: Final = {"integers": INTEGERS, "floats": FLOATS}


def taken(op: OpDef) -> tuple[DType, ...]:
    """Return the dtypes that operand 0 may have; none if it is no tensor."""
    samples = [cell for cell in cells(op) if cell.dtype]
    return tuple(d for d in COMPUTED if any(_takes(cell, d) for cell in samples))


def named(dtypes: tuple[DType, ...]) -> str:
    """Return the dtypes in words: ``bool, integers, f16``."""
    words = ["all"] if dtypes == COMPUTED else list(_words(dtypes))
    return ", ".join(words)


def _takes(cell: Cell, dtype: DType) -> bool:
    return any(_with(cell, dtype, hosts).is_accepted for hosts in (False, True))


def _with(cell: Cell, dtype: DType, hosts: bool) -> Cell:
    """Return the call with operand 0, and all that have its dtype, in another one.

    Args:
        cell: The call.
        dtype: The other dtype.
        hosts: Whether operands that decide shapes have it too.
    """
    operands = [
        filled(given.shape, dtype)
        if isinstance(given, np.ndarray)
        and from_numpy(given.dtype) == cell.dtype
        and (hosts or not index or not cell.is_host(index))
        else given
        for index, given in enumerate(cell.operands)
    ]
    return replace(cell, operands=tuple(operands))


def _words(dtypes: tuple[DType, ...]) -> Iterator[str]:
    whole = {name: group for name, group in _GROUPS.items() if set(group) <= set(dtypes)}
    grouped = {dtype: name for name, group in whole.items() for dtype in group}
    yield from dict.fromkeys(grouped.get(dtype, str(dtype)) for dtype in dtypes)
