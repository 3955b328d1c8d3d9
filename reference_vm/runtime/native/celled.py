"""Values of data types, and closures, that lie in cells, as the interpreter's steps see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from reference_vm.jit.words import load, store
from reference_vm.runtime.holds import Closure, Data
from reference_vm.runtime.native.cells import free_cell
from reference_vm.runtime.native.layout import WORD, Cell, Maker
from reference_vm.runtime.native.makers import Constructor, Lambda

if TYPE_CHECKING:
    from reference_vm.runtime.native.values import Values


@final
class CellView:
    """A cell that lives."""

    __slots__ = ("_inside", "_state", "_values", "address", "maker", "reference")

    def __init__(self, values: Values, state: int, address: int, reference: int) -> None:
        self._values = values
        self._state = state
        self.address = address
        self.reference = reference
        self.maker = load(address, Cell.MAKER)
        self._inside: tuple[Any, ...] | None = None
        """Of a cell that is no more: what was inside."""

    @property
    def words(self) -> list[int]:
        """The words of a slot that holds the cell."""
        return [self.address, self.reference, self.maker]

    @property
    def inside(self) -> tuple[Any, ...]:
        """What it is made of."""
        if self._inside is not None:
            return self._inside
        trees = self._values.makers[self.maker].trees
        return tuple(
            self._values.get(self.address + load(self.maker, Maker.PARTS + 2 * i) * WORD, tree)
            for i, tree in enumerate(trees)
        )

    @property
    def holds(self) -> int:
        return 0 if self._inside is not None else load(self.address, Cell.HOLDS)

    @holds.setter
    def holds(self, holds: int) -> None:
        """Count the holds; the cell is freed with the last, and what is inside is known on."""
        if holds > 0:
            store(self.address, Cell.HOLDS, holds)
        elif self._inside is None:
            self._inside = self.inside
            free_cell(self._state, self.address)


class _Celled:
    """What lies in a cell, whose holds are the cell's."""

    __slots__ = ()
    cell: CellView

    @property
    def holds(self) -> int:
        return self.cell.holds

    @holds.setter
    def holds(self, holds: int) -> None:
        self.cell.holds = holds


@final
class CellData(_Celled, Data):
    """A value of a data type that lies in a cell."""

    __slots__ = ("cell",)

    def __init__(self, cell: CellView, maker: Constructor) -> None:
        self.cell = cell
        self.data_type = maker.data_type
        self.tag = maker.tag

    @property
    def fields(self) -> tuple[Any, ...]:
        return self.cell.inside

    @fields.setter
    def fields(self, fields: tuple[Any, ...]) -> None:
        raise AttributeError("a value that lies in a cell does not change")


@final
class CellClosure(_Celled, Closure):
    """A closure that lies in a cell."""

    __slots__ = ("cell",)

    def __init__(self, cell: CellView, maker: Lambda) -> None:
        self.cell = cell
        self.function = maker.function

    @property
    def captured(self) -> tuple[Any, ...]:
        return self.cell.inside

    @captured.setter
    def captured(self, captured: tuple[Any, ...]) -> None:
        raise AttributeError("a closure that lies in a cell does not change")


__all__ = ["CellClosure", "CellData", "CellView"]
