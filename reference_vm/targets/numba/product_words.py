"""The argument block of matrix products: what each word is called, and where it stands.

A *place* is four kinds of words: ``x`` is the word that holds an address (an operand's, a result's,
the workspace's or the scratch memory's), ``x.at`` bytes to add, ``x.b0`` to ``x.b3`` bytes per
round of each batch loop, and ``x.row`` bytes per row.
"""

from __future__ import annotations

from typing import Final

from reference_vm.targets.numba.blocks import Words

BATCH: Final = 4
"""Loops around a product; more are joined, or the library multiplies."""

ADDRESSES: Final = 24
"""Operands and results at most."""

ROWS, COLUMNS, LATER = 0, 1, 2
"""What one round does: a block of rows, with all that follows; one panel of columns of all rows;
only what follows, on a block of rows whose sums are in the workspace."""

MOVE: Final = ("", ".at", *(f".b{i}" for i in range(BATCH)), ".row")
"""The words of a place, in order."""

MOVES: Final = 24
"""Places that what follows reads and writes, at most."""

TEMPLATE: Final = 256
"""Words of the argument block of what follows, at most."""


def place(name: str) -> tuple[str, ...]:
    """Return the names of a place's words."""
    return tuple(name + part for part in MOVE)


PRODUCT: Final = Words(
    ADDRESSES,
    (
        "mode",
        *("parts", "block", "rows", "depth", "columns"),
        *("size1", "size2", "size3"),
        *place("left"),
        "left.step",
        *place("right"),
        *place("sums"),
        "sums.step",
        "scratch",
        *("follow", "follow.moves", "follow.words", "follow.scratch"),
        *("then", "then.depth", "then.columns"),
        *place("middle"),
        *place("then.right"),
        *place("result"),
        *(f"move{i}{part}" for i in range(MOVES) for part in MOVE),
        *(f"template{i}" for i in range(TEMPLATE)),
    ),
)
"""``sums.step`` is the bytes from row to row of the sums, of which ``sums.row`` may be 0: those of
each block in the scratch memory. ``follow`` is the address of a loop nest for each block of rows,
or 0; ``then`` is 1 if a second product follows, whose left factor is what that wrote to
``middle``."""

PACK: Final = Words(
    ADDRESSES,
    (
        *("panels", "depth", "columns"),
        *("size1", "size2", "size3"),
        *place("from"),
        "from.column",
        *place("to"),
    ),
)
"""Puts a factor into panels; a round is one panel of one matrix."""
