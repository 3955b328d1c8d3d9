"""The calls from outside that the loop begins by itself, since one like them was begun before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.jit import arrays
from reference_vm.jit.words import load, store
from reference_vm.runtime.native.heap import Heap
from reference_vm.runtime.native.layout import Entry, State
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.types import HOST, TensorType
from reference_vm.types.arrays import to_numpy

_LISTED: Final = 8
"""Calls of one function that the loop looks through."""


@final
class Remembered:
    """The calls of a session."""

    def __init__(self, program: NativeProgram, state: int) -> None:
        self._program = program
        self.heads: dict[str, int] = {}
        """The first call of each function that has any, by the function's name."""

        self._heap = Heap()
        self._possible = arrays.as_expected()
        store(state, State.ARRAY_TYPE, id(np.ndarray))

    def add(self, number: int, args: Sequence[Any], instance: int) -> None:
        """Remember a call with these arguments, if the loop could begin one like it."""
        code = self._program.image.executable.functions[number]
        if not (self._possible and all(map(_is_plain, args)) and _takes_tensors(code)):
            return
        words: list[int] = []
        for param, array in zip(code.params, args, strict=True):
            assert isinstance(param.type, TensorType)
            if array.dtype != to_numpy(param.type.dtype):
                return
            words += [id(array.dtype), self._program.forms.tensor(param.type.dtype, array.shape)]
        if all(words):
            head = self._shortened(self.heads.get(code.name, 0))
            record = self._program.records[number]
            self.heads[code.name] = self._heap.put([head, record, instance, len(args), *words])
            self._program.hold(tuple(array.dtype for array in args))

    def clear(self) -> None:
        """Forget all."""
        self.heads.clear()
        self._heap = Heap()

    def _shortened(self, head: int) -> int:
        """Return a list that has room for one more; a long one is begun anew."""
        length, at = 0, head
        while at:
            length, at = length + 1, load(at, Entry.NEXT)
        return head if length < _LISTED else 0


def array_forms(entry: int) -> list[int]:
    """Return the forms of the arrays of a call."""
    return [load(entry, Entry.ARRAYS + 2 * i + 1) for i in range(load(entry, Entry.COUNT))]


def _is_plain(array: Any) -> bool:
    """Whether an argument can be read where it is."""
    return type(array) is np.ndarray and array.flags.c_contiguous and array.flags.aligned


def _takes_tensors(code: FunctionCode) -> bool:
    """Whether every parameter is a tensor on the host."""
    return all(
        isinstance(p.type, TensorType)
        and (p.type.vdevice is None or p.type.vdevice.device in (None, HOST))
        for p in code.params
    )


__all__ = ["Remembered", "array_forms"]
