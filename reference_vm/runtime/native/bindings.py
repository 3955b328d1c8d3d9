"""Programs by which the loop finds the instance for arguments of new sizes, without Python.

They are what `bind_symbols` does with the arguments of a call that was right, and what the cells of
an instance are told by, noted down by numbers that are `Traced`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, final

from reference_vm.bytecode.executable import DataTypeSlot, FunctionCode
from reference_vm.bytecode.instructions import MatchCast
from reference_vm.devices.api import Tensor
from reference_vm.diagnostics import DataError
from reference_vm.jit.words import load, store
from reference_vm.runtime.native.forms import Forms
from reference_vm.runtime.native.heap import Heap
from reference_vm.runtime.native.layout import (
    CELLS,
    SLOT,
    Binding,
    Casting,
    FunctionRecord,
    Slot,
    Telling,
)
from reference_vm.runtime.native.programs import MOST_NUMBERS
from reference_vm.runtime.native.told import Told, traced_cells
from reference_vm.runtime.native.tracing import Recording, Traced, given
from reference_vm.runtime.shapes import cast_symbols
from reference_vm.runtime.sizes import Symbols
from reference_vm.runtime.symbols import bind_symbols
from reference_vm.types import ShapeType, TensorType, TupleType, Type

TRIES: Final = 4
"""Programs of one function for either; beyond, Python finds its instances."""


_CASTS: Final = 4
"""The word of `Op.MATCH` with its programs."""


@final
class Bindings:
    """The programs of a session's functions."""

    def __init__(self, forms: Forms, data_types: Sequence[DataTypeSlot]) -> None:
        self._forms = forms
        self._data_types = data_types
        self._heap = Heap()
        self._tried: dict[tuple[int, int], int] = {}

    def learn_call(
        self, record: int, code: FunctionCode, values: Sequence[Any], slots: Sequence[int]
    ) -> None:
        """Leave a program for calls with arguments like these, whose slots have such words."""
        if code.hidden_symbols or not self._may(record, FunctionRecord.BINDINGS):
            return
        forms = list(_forms(slots))
        if any(f is None for f in forms):
            return
        known = [self._forms[f] if f else None for f in forms]
        recording = Recording()
        dims = iter([() if k is None else given(recording, k.dims) for k in known])
        traced = [_traced(p.type, v, dims) for p, v in zip(code.params, values, strict=True)]
        symbols = bind_symbols(code, traced, self._data_types)
        places = list(map(recording.place, symbols))
        words = [0, self._heap.put(recording.words()), self._heap.put(places or [0])]
        for form in known:
            words += [0, 0] if form is None else [form.kind, len(form.dims)]
        assert len(words) >= Binding.PARAMETERS
        self._leave(record, FunctionRecord.BINDINGS, words, recording)

    def learn_cast(
        self, code: FunctionCode, cast: MatchCast, pc: int, symbols: Symbols, form: int
    ) -> None:
        """Leave a program for casts, at ``pc``, like one that was right for these symbols."""
        if not symbols or not self._may(pc, _CASTS):
            return
        recording = Recording()
        known = self._forms[form]
        before, dims = given(recording, symbols), given(recording, known.dims)
        after = cast_symbols(code, cast)(before, dims)  # type: ignore[arg-type]
        words = [0] * (Casting.RANK + 1)
        places = list(map(recording.place, after))
        words[Casting.PROGRAM] = self._heap.put(recording.words())
        words[Casting.SYMBOLS] = self._heap.put(places)
        words[Casting.KIND], words[Casting.RANK] = known.kind, len(known.dims)
        self._leave(pc, _CASTS, words, recording)

    def learn_cells(self, record: int, cells: Sequence[Told], symbols: Symbols) -> None:
        """Leave a program for instances like the one for these symbols."""
        if not symbols or not self._may(record, FunctionRecord.TELLINGS):
            return
        try:
            recording, told = traced_cells(cells, symbols)
        except DataError:
            return
        words = [0] * Telling.WORDS
        words[Telling.PROGRAM] = self._heap.put(recording.words())
        words[Telling.CELLS] = self._heap.put(told)
        self._leave(record, FunctionRecord.TELLINGS, words, recording)

    def _may(self, record: int, kind: int) -> bool:
        """Whether one more program is not too many; counts it."""
        tried = self._tried.get((record, kind), 0)
        self._tried[record, kind] = tried + 1
        return tried < TRIES

    def _leave(self, record: int, kind: int, words: list[int], recording: Recording) -> None:
        if recording.numbers <= MOST_NUMBERS:
            words[0] = load(record, kind)
            store(record, kind, self._heap.put(words))


def _forms(slots: Sequence[int]) -> Iterator[int | None]:
    """Yield the form in each slot: 0 for a cell, ``None`` for what has none."""
    for at in range(0, len(slots), SLOT):
        is_cell = slots[at + Slot.REFERENCE] <= CELLS
        yield 0 if is_cell else slots[at + Slot.FORM] or None


def _traced(type_: Type, value: Any, dims: Iterator[tuple[Traced, ...]]) -> Any:
    """Return an argument with the dims of each slot in place of its own.

    Dims that the type says must be what they are.
    """
    if isinstance(type_, TupleType):
        return tuple(_traced(t, v, dims) for t, v in zip(type_.items, value, strict=True))
    own = next(dims)
    promised = type_.shape if isinstance(type_, TensorType) else None
    if isinstance(type_, ShapeType):
        promised = type_.dims
    for dim, size in zip(promised or (), own, strict=promised is not None):
        if isinstance(dim, int) and size != dim:
            raise AssertionError("an argument of a call that was right")
    if isinstance(value, Tensor):
        return Tensor(value.buffer, value.offset, value.dtype, own, value.nbytes)  # type: ignore[arg-type]
    return own if isinstance(type_, ShapeType) else value


__all__ = ["Bindings"]
