"""Where the tensors inside a value of a data type come from: its arguments, or its declaration.

For ``type List[T] { Nil, Cons(T, (List[T], f32[2])) }`` and a value of type ``List[(f32, i64)]``,
whose leaves are an ``f32`` (0) and an ``i64`` (1), the fields of ``Cons`` have the slots::

    T                  ->  0, 1
    (List[T], f32[2])  ->  0, 1, and the first tensor that Cons declares itself

All tensors of one slot live on one device. A tensor that the declaration itself names has one
device in the whole module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from reference_vm.ir.nodes import Adt, Constructor, Module
from reference_vm.types import (
    AdtType,
    FunctionType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    substitute_params,
    tensors,
)


@final
@dataclass(frozen=True, slots=True)
class Declared:
    """A tensor that a constructor's declaration names."""

    constructor: str
    index: int
    """Which of the tensors that the constructor declares."""

    type: TensorType


Slot: TypeAlias = "int | Declared"
"""A leaf of the data type's arguments, or a tensor of the declaration."""


@final
@dataclass(frozen=True, slots=True)
class FieldLeaf:
    """One tensor of a field of a constructor."""

    slot: Slot
    direct: bool
    """Whether the field holds the tensor itself, in tuples at most, and not in a data type or
    behind a function, where nothing can be moved."""


@final
class DataTypes:
    """The data types of a module."""

    def __init__(self, module: Module) -> None:
        self._constructors: dict[str, tuple[Adt, Constructor]] = {
            c.name: (adt, c) for adt in module.adts for c in adt.constructors
        }

    def declaration(self, constructor: str) -> tuple[Adt, Constructor]:
        """Return the data type of ``constructor``, and what it is."""
        return self._constructors[constructor]

    def field_types(self, constructor: str, args: Sequence[Type]) -> tuple[Type, ...]:
        """Return the types of the fields in a value of the data type with these arguments."""
        adt, declared = self._constructors[constructor]
        values = dict(zip(adt.params, args, strict=True))
        return tuple(substitute_params(t, values) for t in declared.fields)

    def field_leaves(
        self, constructor: str, args: Sequence[Type]
    ) -> tuple[tuple[FieldLeaf, ...], ...]:
        """Return, for each field, where its tensors come from."""
        adt, declared = self._constructors[constructor]
        slots: dict[str, tuple[tuple[int, bool], ...]] = {}
        start = 0
        for param, arg in zip(adt.params, args, strict=True):
            direct = direct_leaves(arg)
            slots[param] = tuple((start + i, d) for i, d in enumerate(direct))
            start += len(direct)
        count = 0
        fields = []
        for field in declared.fields:
            found = tuple(_leaves(field, slots, constructor, count))
            count += sum(1 for leaf in found if isinstance(leaf.slot, Declared))
            fields.append(found)
        return tuple(fields)


def _leaves(
    type_: Type, slots: Mapping[str, tuple[tuple[int, bool], ...]], constructor: str, count: int
) -> Iterator[FieldLeaf]:
    stack: list[tuple[Type, bool]] = [(type_, True)]
    while stack:
        top, direct = stack.pop()
        match top:
            case TensorType():
                yield FieldLeaf(Declared(constructor, count, top), direct)
                count += 1
            case TupleType(items=items):
                stack.extend((t, direct) for t in reversed(items))
            case FunctionType(params=params, result=result):
                stack.extend((t, False) for t in (result, *reversed(params)))
            case AdtType(name=name, args=args) if not args and name in slots:
                for slot, inner in slots[name]:
                    yield FieldLeaf(slot, direct and inner)
            case AdtType(args=args):
                stack.extend((t, False) for t in reversed(args))
            case ShapeType():
                pass


def direct_leaves(type_: Type) -> tuple[bool, ...]:
    """Return, for each of the tensors in ``type_``, whether only tuples are around it."""
    found: list[bool] = []
    stack: list[Type] = [type_]
    while stack:
        top = stack.pop()
        if isinstance(top, TensorType):
            found.append(True)
        elif isinstance(top, TupleType):
            stack.extend(reversed(top.items))
        else:
            found.extend(False for _ in tensors(top))
    return tuple(found)


__all__ = ["DataTypes", "Declared", "FieldLeaf", "Slot", "direct_leaves"]
