"""Where to look for the sizes that only tensors inside data types tell: records for the loop.

A symbol of a function may stand in nothing but the argument of a data type: `List[f32[n]]`. It is
then what the first tensor found in there has. A *look* lists what lies where, in the order of the
search: the slots of the parameters, and for each constructor those of its fields. A list of pairs
comes to itself again, so its records are a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.bytecode.executable import Executable, FunctionCode, Parameter
from reference_vm.bytecode.symbols import lone_symbol, lone_symbols
from reference_vm.runtime.native.heap import Heap, write
from reference_vm.runtime.native.layout import SLOT, Cell, Frame, Look, Spot
from reference_vm.runtime.native.trees import count, tree_of
from reference_vm.types import AdtType, TensorType, TupleType, Type

_MOST: Final = 64
"""Data types, with their arguments, that are looked into; there may be no end to them."""

_SLOTS: Final = 1024
"""Slots of one value that are looked into: a type may be twice as large each time it is named."""

_SYMBOLS: Final = 8


def hidden_record(executable: Executable, code: FunctionCode, heap: Heap) -> int:
    """Return the address of `FunctionRecord.HIDDEN`: 0 if nothing is hidden, -1 if too much is."""
    symbols = code.hidden_symbols
    if not symbols:
        return 0
    if len(symbols) > _SYMBOLS:
        return -1
    looks = [_Looks(executable, symbol, heap).at(code.params) for symbol in symbols]
    return heap.put([len(looks), *looks]) if all(looks) else -1


@final
@dataclass
class _Looks:
    """The records for one symbol."""

    executable: Executable
    symbol: str
    heap: Heap
    known: dict[AdtType, int] = field(default_factory=dict)
    is_large: bool = False

    def at(self, params: Sequence[Parameter]) -> int:
        """Return the look at parameters; 0 if there are too many data types in them."""
        types = [p.type for p in params]
        spots = list(self._spots(types, Frame.SLOTS))
        found = self._put(types, spots[::-1])
        return 0 if self.is_large or len(self.known) > _MOST else found

    def _spots(self, types: Sequence[Type], at: int) -> Iterator[list[int]]:
        """Yield the words of what is to be looked at of values that lie one after the other.

        Those of one value come together.
        """
        for type_ in types:
            yield list(self._within(type_, at))
            at += SLOT * count(tree_of(type_))

    def _within(self, type_: Type, at: int) -> Iterator[int]:
        match type_:
            case TensorType(shape=shape):
                axes = [i for i, d in enumerate(shape or ()) if lone_symbol(d) == self.symbol]
                if axes:
                    yield from (at, axes[0], 0)
            case TupleType(items=items):
                for words in self._spots(items, at):
                    yield from words
            case AdtType() if self.symbol in lone_symbols(type_, inside=True):
                yield from (at, 0, self._data(type_))
            case _:
                return

    def _data(self, type_: AdtType) -> int:
        """Return the address of one look for each constructor of a data type."""
        if type_ in self.known or len(self.known) > _MOST:
            return self.known.get(type_, 0)
        index = self.executable.types_by_name[type_.name]
        constructors = self.executable.data_types[index].constructors
        found = self.known[type_] = self.heap.take(len(constructors))
        looks: list[int] = []
        for tag in range(len(constructors)):
            fields = self.executable.field_types(index, tag, type_.args)
            if sum(count(tree_of(t)) for t in fields) > _SLOTS:
                self.is_large = True
                return 0
            looks.append(self._put(fields, list(self._spots(fields, Cell.SLOTS))))
        write(found, looks)
        return found

    def _put(self, types: Sequence[Type], spots: Sequence[Sequence[int]]) -> int:
        words = [w for spot in spots for w in spot]
        slots = sum(count(tree_of(t)) for t in types)
        head = [0] * Look.SPOTS
        head[Look.SLOTS], head[Look.COUNT] = slots, len(words) // Spot.WORDS
        return self.heap.put([*head, *words])


__all__ = ["hidden_record"]
