"""Operator by dtype by device, as the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from hettest.levels.coverage import Cell

_DTYPES: Final = (
    *("bool", "i4", "i8", "i16", "i32", "i64", "u4", "u8", "u16", "u32", "u64"),
    *("f8e4m3fn", "f8e5m2", "bf16", "f16", "f32", "f64"),
)
_ORDER: Final = {name: index for index, name in enumerate(_DTYPES)}


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One operator; a cell for each dtype and device, ``None`` where no item is."""

    op: str
    cells: tuple[Cell | None, ...]

    @property
    def is_clean(self) -> bool:
        """Whether all items passed."""
        return all(cell is None or cell.shown == "passed" for cell in self.cells)

    @property
    def is_unclaimed(self) -> bool:
        """Whether no item was run, for want of a word."""
        return all(cell is None or cell.shown == "unsupported" for cell in self.cells)


@final
@dataclass(frozen=True, slots=True)
class Matrix:
    """The whole table: a column for each dtype and, in it, for each device."""

    dtypes: tuple[str, ...]
    devices: tuple[str, ...]
    marked: tuple[Row, ...]
    """Operators some item of which did not pass."""

    clean: tuple[Row, ...]

    unclaimed: tuple[str, ...] = ()
    """Operators every item of which is unsupported."""


def matrix(cells: Sequence[Cell], devices: Sequence[str]) -> Matrix | None:
    """Return the table of ``cells``; ``None`` of none.

    Args:
        cells: In any order.
        devices: Those of the run, in order; what else there is comes after them.
    """
    if not cells:
        return None
    known = {(cell.op, cell.dtype, cell.device): cell for cell in cells}
    dtypes = sorted({cell.dtype for cell in cells}, key=lambda name: (_ORDER.get(name, 99), name))
    there = {cell.device for cell in cells}
    shown = [device for device in devices if device in there]
    shown += sorted(there.difference(shown))
    rows = [
        Row(op, tuple(known.get((op, dtype, device)) for dtype in dtypes for device in shown))
        for op in sorted({cell.op for cell in cells})
    ]
    marked = tuple(row for row in rows if not row.is_clean and not row.is_unclaimed)
    unclaimed = tuple(row.op for row in rows if row.is_unclaimed)
    clean = tuple(row for row in rows if row.is_clean)
    return Matrix(tuple(dtypes), tuple(shown), marked, clean, unclaimed)
