"""The functions whose calls from outside the loop begins by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.jit import arrays
from reference_vm.jit.words import load, store
from reference_vm.runtime.native.forms import Known
from reference_vm.runtime.native.heap import Heap, read, write
from reference_vm.runtime.native.layout import WORD, Entry, Gate, State
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.types import HOST, TensorType
from reference_vm.types.arrays import to_numpy


@final
class Remembered:
    """The gates of a session."""

    def __init__(self, program: NativeProgram, state: int) -> None:
        self._program = program
        self.gates: dict[str, int] = {}
        """The gate of each function that has one, by the function's name."""

        self._dtypes: dict[str, list[Any]] = {}
        """The dtype objects that gates have the addresses of."""

        self._heap = Heap()
        self._possible = arrays.as_expected()
        store(state, State.ARRAY_TYPE, id(np.ndarray))

    def add(self, number: int, args: Sequence[Any]) -> None:
        """Let the loop begin calls with arrays like these by itself, if it can."""
        code = self._program.image.executable.functions[number]
        if not (self._possible and all(map(_is_plain, args)) and _takes_tensors(code)):
            return
        words = [0] * Gate.ARRAYS
        words[Gate.FUNCTION], words[Gate.COUNT] = self._program.records[number], len(args)
        for param, array in zip(code.params, args, strict=True):
            assert isinstance(param.type, TensorType)
            if array.dtype != to_numpy(param.type.dtype):
                return
            form = Known(param.type.dtype, array.shape)
            words += [id(array.dtype), form.kind, array.ndim]
        told = words[Gate.FUNCTION :]
        gate = self.gates.get(code.name, 0)
        if gate and read(gate + Gate.FUNCTION * WORD, len(told)) == told:
            return
        self._dtypes[code.name] = [array.dtype for array in args]
        if gate:
            write(gate, words)
        else:
            self.gates[code.name] = self._heap.put(words)

    def clear(self) -> None:
        """Forget the calls, whose memory was given back with the room's."""
        for gate in self.gates.values():
            write(gate, [0, 0])


def array_forms(entry: int) -> list[int]:
    """Return the forms of the arrays of a call."""
    return read(entry + Entry.FORMS * WORD, load(entry, Entry.COUNT))


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
