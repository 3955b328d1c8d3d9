"""Taking results from the loop's slots to the caller."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from reference_vm.jit.words import load
from reference_vm.runtime.native.handed import DataOut
from reference_vm.runtime.native.heap import read
from reference_vm.runtime.native.layout import SLOT, WORD, State
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.runtime.native.run import NativeRun
from reference_vm.runtime.native.trees import Tree, tree_of
from reference_vm.runtime.native.values import Values
from reference_vm.runtime.results import deliver

_KEPT: Final = 1024
"""Results that are remembered."""


@final
@dataclass(frozen=True, slots=True)
class Arrays:
    """The arrays that results go to: what is known of each, one for each slot."""

    words: ctypes.Array[ctypes.c_int64]
    """As `State.EXPECTED` says."""

    address: int
    """Of these words."""

    sizes: tuple[int, ...]
    """Bytes."""

    kinds: tuple[tuple[tuple[int, ...], Any], ...]
    """Dims and NumPy's dtype."""

    tree: Tree
    """How the function's result type nests them."""

    flat: bool
    """Whether the result is one tuple of tensors."""

    def fresh(self) -> tuple[Any, ...]:
        """Return new arrays, which the loop is to fill."""
        return tuple([np.empty(dims, dtype) for dims, dtype in self.kinds])

    def nested(self, arrays: tuple[Any, ...]) -> Any:
        """Return arrays as the function gives them."""
        if self.flat:
            return arrays
        return arrays[0] if self.tree is None else _nested(self.tree, iter(arrays))


@final
class Delivery:
    """Reads what a function returned."""

    def __init__(self, program: NativeProgram, state: int, values: Values, data: DataOut) -> None:
        self._program = program
        self._state = state
        self._values = values
        self._data = data
        self._trees: dict[int, Tree] = {}
        """The tree of the result, by the address of the instruction that returned it."""

        self._returned: dict[int, list[int]] = {}
        """Its slots, likewise."""

        self._known: dict[tuple[int, ...], Arrays] = {}
        """By the address of the instruction, and the forms of the results."""

    def arrays(self) -> Arrays | None:
        """Return what arrays the results go to, if all are tensors on the host."""
        pc, frame = read(self._state, 2)
        forms: list[int] = []
        for slot in self._slots(pc):
            _, reference, form = read(frame + slot * WORD, SLOT)
            if reference <= 0 or not form:
                return None
            forms.append(form)
        key = (pc, *forms)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[key] = self._made(pc, forms)
        for nbytes in found.sizes:
            self._program.image.host.deliver(nbytes)
        return found

    def clear(self) -> None:
        """Forget what results of certain forms go to."""
        self._known.clear()

    def _made(self, pc: int, forms: Sequence[int]) -> Arrays:
        arrays = list(map(self._program.forms.array, forms))
        words = (ctypes.c_int64 * (1 + len(forms)))(len(forms), *forms)
        tree = self._tree(pc)
        return Arrays(
            words,
            ctypes.addressof(words),
            tuple([nbytes for nbytes, _, _ in arrays]),
            tuple([(dims, dtype) for _, dims, dtype in arrays]),
            tree,
            tree is not None and all(inside is None for inside in tree),
        )

    def _slots(self, pc: int) -> list[int]:
        """Return the slots that the instruction returns, in words from the frame."""
        found = self._returned.get(pc)
        if found is None:
            found = self._returned[pc] = read(pc + 2 * WORD, load(pc, 1))
        return found

    def slowly(self, run: NativeRun) -> Any:
        """Return the results, whatever they are, as the interpreter delivers them."""
        if run.result is None:
            data = self._data.result(self._tree(load(self._state, State.PC)))
            if data is not None:
                return data
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


def _nested(tree: Tree, leaves: Iterator[Any]) -> Any:
    """Return leaves, nested as a tree is."""
    return next(leaves) if tree is None else tuple([_nested(t, leaves) for t in tree])


__all__ = ["Arrays", "Delivery"]
