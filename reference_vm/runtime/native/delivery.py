"""Taking results from the loop's slots to the caller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from reference_vm.jit.words import load
from reference_vm.runtime.native.heap import read
from reference_vm.runtime.native.layout import SLOT, WORD, State
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.runtime.native.run import NativeRun
from reference_vm.runtime.native.trees import Tree, tree_of
from reference_vm.runtime.native.values import Values
from reference_vm.runtime.results import deliver
from reference_vm.types.arrays import to_numpy


@final
@dataclass(frozen=True, slots=True)
class Arrays:
    """Arrays for the results, which the loop is to fill."""

    flat: tuple[Any, ...]
    """One for each slot of the result."""

    nested: Any
    """The same as the function's result type nests them."""


@final
class Delivery:
    """Reads what a function returned."""

    def __init__(self, program: NativeProgram, state: int, values: Values) -> None:
        self._program = program
        self._state = state
        self._values = values
        self._trees: dict[int, Tree] = {}
        """The tree of the result, by the address of the instruction that returned it."""

    def arrays(self) -> Arrays | None:
        """Return arrays for the results, if all are tensors on the host."""
        pc, frame = load(self._state, State.PC), load(self._state, State.FRAME)
        ledger, forms = self._program.image.host.ledger, self._program.forms
        made: list[Any] = []
        sizes: list[int] = []
        for slot in read(pc + 2 * WORD, load(pc, 1)):
            _, reference, form = read(frame + slot * WORD, SLOT)
            if reference <= 0 or not form:
                return None
            known = forms[form]
            assert known.dtype is not None
            made.append(np.empty(known.dims, to_numpy(known.dtype)))
            sizes.append(known.nbytes)
        for nbytes in sizes:
            ledger.note("out", nbytes)
        return Arrays(tuple(made), nested(self._tree(pc), iter(made)))

    def slowly(self, run: NativeRun) -> Any:
        """Return the results, whatever they are, as the interpreter delivers them."""
        value = self._value() if run.result is None else run.result[0]
        return deliver(value, run, self._program.image.executable.data_types)

    def _value(self) -> Any:
        pc, frame = load(self._state, State.PC), load(self._state, State.FRAME)
        first = load(pc, 2) if load(pc, 1) else 0
        return self._values.get(frame + first * WORD, self._tree(pc))

    def _tree(self, pc: int) -> Tree:
        if pc not in self._trees:
            place = self._program.places[pc]
            self._trees[pc] = tree_of(self._program.function(place).result)
        return self._trees[pc]


def nested(tree: Tree, leaves: Iterator[Any]) -> Any:
    """Return leaves, nested as a tree is."""
    return next(leaves) if tree is None else tuple([nested(t, leaves) for t in tree])


__all__ = ["Arrays", "Delivery"]
