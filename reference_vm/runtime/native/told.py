"""What the symbols of a function decide: sizes and forms, each for a cell of an instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.diagnostics import DataError
from reference_vm.runtime.native.forms import SHAPE, Forms, Known
from reference_vm.runtime.native.tracing import Number, Recording, given
from reference_vm.runtime.sizes import ADDRESSES, Symbols, compile_dim
from reference_vm.runtime.sizes import Number as Compiled
from reference_vm.types import Dim, DType

SIZE: Final = 0
"""The kind of a number of bytes."""


@final
@dataclass(frozen=True, slots=True)
class Told:
    """How one cell is filled."""

    cell: int
    dtype: DType | None
    """Of a form of a tensor."""

    kind: int
    """Of the form; `SIZE` for a number of bytes."""

    dims: tuple[Compiled, ...]

    def word(self, symbols: Symbols, forms: Forms) -> int:
        """Return what the cell holds; 0 (a size: -1) for what cannot be, which Python finds too."""
        try:
            numbers = tuple([dim(symbols) for dim in self.dims])
        except DataError:
            return -1 if self.kind == SIZE else 0
        if self.kind == SIZE:
            return numbers[0] if 0 <= numbers[0] < ADDRESSES else -1
        return forms.shape(numbers) if self.dtype is None else forms.tensor(self.dtype, numbers)


def told_size(cell: int, size: Dim, slots: Mapping[str, int]) -> Told:
    """Return how a cell is filled with a number of bytes."""
    return Told(cell, None, SIZE, (compile_dim(size, slots),))


def told_form(
    cell: int, dtype: DType | None, dims: Sequence[Dim], slots: Mapping[str, int]
) -> Told:
    """Return how a cell is filled with a form; ``None`` as dtype: of a shape value."""
    kind = SHAPE if dtype is None else Known(dtype, ()).kind
    return Told(cell, dtype, kind, tuple(compile_dim(d, slots) for d in dims))


def traced_cells(cells: Sequence[Told], symbols: Symbols) -> tuple[Recording, list[int]]:
    """Return a program from symbols to what cells hold, and the words of its results.

    They are how many there are, then for each its cell, kind, rank, and the places of its dims.

    Raises:
        DataError: A dim divides by 0 for these symbols.
    """
    recording = Recording()
    known = given(recording, symbols)
    words = [len(cells)]
    for told in cells:
        dims: list[Number] = [dim(known) for dim in told.dims]  # type: ignore[arg-type]
        words += [told.cell, told.kind, len(dims), *map(recording.place, dims)]
    return recording, words


__all__ = ["SIZE", "Told", "told_form", "told_size", "traced_cells"]
