"""A program in the memory of the native loop: code, records of functions, and instances."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import (
    HostOp,
    Instruction,
    Invoke,
    InvokeClosure,
    Launch,
    Register,
)
from reference_vm.devices.api import Tensor
from reference_vm.jit.words import load, store
from reference_vm.runtime.image import Image
from reference_vm.runtime.native.bindings import Bindings
from reference_vm.runtime.native.cell_memory import CellMemory
from reference_vm.runtime.native.forms import Forms
from reference_vm.runtime.native.heap import Heap, address_of, aligned_words, read, write
from reference_vm.runtime.native.hidden import hidden_record
from reference_vm.runtime.native.layout import (
    CONSTANT,
    WORD,
    BufferEntry,
    FunctionRecord,
    Instance,
    State,
    Way,
)
from reference_vm.runtime.native.makers import Makers
from reference_vm.runtime.native.memory import entry_of
from reference_vm.runtime.native.plans import Plans
from reference_vm.runtime.native.pool import HostPool
from reference_vm.runtime.native.records import KEPT, MOST, find, link
from reference_vm.runtime.native.room import Room
from reference_vm.runtime.native.translation import (
    Code,
    Surroundings,
    linked,
    offsets,
    translate,
)
from reference_vm.runtime.native.trees import count, tree_of
from reference_vm.runtime.sizes import ADDRESSES, Symbols
from reference_vm.types import HOST

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.pool import Pool

_WAYS: Final = 16
"""Calls of one function that the loop looks through."""


@final
@dataclass(frozen=True, slots=True)
class Place:
    """An instruction of a program."""

    function: int
    index: int


@final
class NativeProgram:
    """An image, translated."""

    def __init__(self, image: Image, state: int, pool: Pool) -> None:
        self.image = image
        self.room = Room(state)
        self.forms = Forms(state, self.room)
        self.memory = HostPool(image.host, state)
        self.plans = Plans(state, self.room, self.forms, image.kernels, image.shape_function, pool)
        self.bindings = Bindings(self.forms, image.executable.data_types)
        self.cell_memory = CellMemory(state)
        self._state = state
        self._records = Heap()
        functions = image.executable.functions
        self.records = [self._records.take(FunctionRecord.WORDS) for _ in functions]
        self.makers = Makers(functions, self.records)
        around = Surroundings(
            image.executable,
            self.records,
            self.plans.records,
            [self._constant(c) for c in image.constants],
            self.makers,
            image.executable.devices.index(HOST),
            bool(load(state, State.CHECKED)),
            self._is_listed,
            self._reads,
            self._is_elements,
        )
        self.codes = [translate(around, code) for code in functions]
        self.places: dict[int, Place] = {}
        """The instruction at each address."""

        self.starts: list[list[int]] = []
        """The address of each instruction of each function."""

        self._load()
        self.forms.settle()
        self._clear_instances()

    def instruction(self, place: Place) -> Instruction:
        return self.function(place).instructions[place.index]

    def function(self, place: Place) -> FunctionCode:
        return self.image.executable.functions[place.function]

    def instance(self, function: int, symbols: Symbols) -> int:
        """Return what a function's symbols decide."""
        key = (function, symbols)
        found = self._instances.get(key)
        if found is None:
            found = self._linked(function, symbols) or self._make_instance(function, symbols)
            self._instances[key], self._symbols[found] = found, symbols
        return found

    def add_way(self, record: int, instance: int, forms: Sequence[int]) -> None:
        """Remember the instance that a function was called with for arguments of these forms.

        After the forms stand the sizes of its hidden symbols.
        """
        length, at = 0, load(record, FunctionRecord.WAYS)
        while at:
            length, at = length + 1, load(at, Way.NEXT)
        first = load(record, FunctionRecord.WAYS) if length < _WAYS else 0
        store(record, FunctionRecord.WAYS, self.room.put([first, instance, *forms]))

    def target(self, back: int) -> tuple[int, Register]:
        """Return the function and register for the result of a call.

        Args:
            back: The address of the instruction behind the call.
        """
        place = self.places[back]
        call = self.function(place).instructions[place.index - 1]
        assert isinstance(call, Invoke | InvokeClosure)
        return place.function, call.target

    def symbols(self, instance: int) -> Symbols:
        """Return the symbols of an instance."""
        found = self._symbols.get(instance)
        if found is None:  # the loop made it
            function = load(load(instance, Instance.FUNCTION), FunctionRecord.NUMBER)
            count = len(self.image.executable.functions[function].symbols)
            found = tuple(read(instance + Instance.SYMBOLS * WORD, count))
            self._symbols[instance] = found
        return found

    @property
    def is_full(self) -> bool:
        """Whether there are so many instances or plans that all are to be forgotten."""
        made = load(self._state, State.MADE) + len(self._instances)
        return made > KEPT or self.plans.are_many or self.room.is_full

    def tidy(self) -> None:
        """Between two runs: forget all that sizes decide."""
        self.plans.clear()
        self.room.clear()
        self.forms.clear()
        self._clear_instances()

    def _clear_instances(self) -> None:
        self._instances: dict[tuple[int, Symbols], int] = {}
        self._symbols: dict[int, Symbols] = {}
        store(self._state, State.MADE, 0)
        for number, code in enumerate(self.image.executable.functions):
            store(self.records[number], FunctionRecord.WAYS, 0)
            if not code.symbols:
                instance = self.instance(number, ())
                store(self.records[number], FunctionRecord.INSTANCE, instance)

    def _make_instance(self, function: int, symbols: Symbols) -> int:
        code = self.codes[function]
        words = [0] * code.instance_words
        words[Instance.FUNCTION] = self.records[function]
        for told in code.cells:
            words[told.cell] = told.word(symbols, self.forms)
        if any(abs(s) >= ADDRESSES for s in symbols):  # dims of a shape value that is no form
            words[Instance.SYMBOLS : Instance.SYMBOLS + len(symbols)] = [MOST] * len(symbols)
            return self.room.put(words)
        self.bindings.learn_cells(self.records[function], code.cells, symbols)
        words[Instance.SYMBOLS : Instance.SYMBOLS + len(symbols)] = symbols
        address = self.room.put(words)
        table = load(self._state, State.INSTANCES)
        link(table, address, 1 + len(symbols), Instance.FUNCTION)
        return address

    def _linked(self, function: int, symbols: Symbols) -> int:
        """Return an instance that the loop made; 0 if there is none."""
        if any(abs(s) >= ADDRESSES for s in symbols):
            return 0
        key = (ctypes.c_int64 * (1 + len(symbols)))(self.records[function], *symbols)
        table = load(self._state, State.INSTANCES)
        return find(table, ctypes.addressof(key), len(key), Instance.FUNCTION)

    def _load(self) -> None:
        """Write all code to memory, and each function's record."""
        sizes = [sum(map(len, code.instructions)) for code in self.codes]
        self._words = aligned_words(max(1, sum(sizes)))
        at = self.begin = address_of(self._words)
        """Where the code begins."""

        for number, (code, size) in enumerate(zip(self.codes, sizes, strict=True)):
            starts = [at + offset for offset in offsets(code)]
            self.starts.append(starts)
            self.places.update((a, Place(number, i)) for i, a in enumerate(starts))
            write(at, linked(code, starts.__getitem__, self._records.put))
            function = self.image.executable.functions[number]
            slots = sum(count(tree_of(p.type)) for p in function.params)
            hidden = hidden_record(self.image.executable, function, self._records)
            head = [number, at, code.frame_words, 0, 0, hidden, slots, 0, 0]
            write(self.records[number], [*head, len(function.symbols), code.instance_words])
            at += 8 * size

    def _constant(self, tensor: Tensor) -> tuple[int, int, int]:
        """Return the words of a constant's slot; zeros if it is not on the host."""
        if tensor.buffer.device is not self.image.host:
            return 0, 0, 0
        reference = self.memory.name(tensor.buffer, CONSTANT)
        address = load(entry_of(self._state, reference), BufferEntry.ADDRESS) + tensor.offset
        return address, reference, self.forms.tensor(tensor.dtype, tensor.shape)

    def _is_listed(self, launch: Launch) -> bool:
        return all(t.is_sized for t in launch.targets)

    def _is_elements(self, op: HostOp) -> bool:
        return self.image.kernels[op.kernel].ops == ("shape_to_tensor",)

    def _reads(self, launch: Launch) -> bool:
        return any(self.image.shape_function(launch.kernel).reads)


__all__ = ["Code", "NativeProgram", "Place"]
