"""Does a value that a case writes down fit the type of what it is given to?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from hettest.case.model import Tensor, Written
from hettest.language import AdtType, DataTypes, Module, TensorType, TupleType, Type


def mismatch(written: Written, type_: Type | None, module: Module) -> str | None:
    """Return how a value differs from its type: its form, and each tensor's dtype and static dims.

    Args:
        written: The value.
        type_: The type; ``None`` fits everything.
        module: The program, whose data types the value may be of.
    """
    return _Fitting(module, DataTypes(module)).mismatch(written, type_)


@final
@dataclass(frozen=True)
class _Fitting:
    module: Module
    data_types: DataTypes

    def mismatch(self, written: Written, type_: Type | None) -> str | None:
        match type_:
            case TensorType():
                return _tensor(written, type_)
            case TupleType(items=items):
                return self._tuple(written, items)
            case AdtType():
                return self._data(written, type_)
            case _:
                return None

    def _tuple(self, written: Written, items: Sequence[Type]) -> str | None:
        if not isinstance(written, tuple) or constructor_of(written) is not None:
            return f"found {_called(written)}, expected a tuple of {len(items)}"
        if len(written) != len(items):
            return f"found {len(written)} items, expected {len(items)}"
        return self._first(written, items)

    def _data(self, written: Written, type_: AdtType) -> str | None:
        known = [
            c.name for adt in self.module.adts if adt.name == type_.name for c in adt.constructors
        ]
        name = constructor_of(written)
        if name not in known or name is None or not isinstance(written, tuple):
            return f"found {_called(written)}, expected {type_}: {', '.join(known)}"
        fields = self.data_types.field_types(name, type_.args)
        if len(written) != 1 + len(fields):
            return f"found {_called(written)}, expected {len(fields)}"
        return self._first(written[1:], fields)

    def _first(self, written: Sequence[Written], types: Sequence[Type]) -> str | None:
        return next(filter(None, self._each(written, types)), None)

    def _each(self, written: Sequence[Written], types: Sequence[Type]) -> Iterator[str | None]:
        return (self.mismatch(w, t) for w, t in zip(written, types, strict=True))


def constructor_of(written: Written) -> str | None:
    """Return the constructor that a value of a data type begins with; ``None`` for other values."""
    if isinstance(written, tuple) and written and isinstance(written[0], str):
        return written[0]
    return None


def _tensor(written: Written, type_: TensorType) -> str | None:
    if not isinstance(written, Tensor):
        return f"found {_called(written)}, expected {type_}"
    if written.dtype != type_.dtype.name:
        return f"found {written.dtype}, expected {type_.dtype}"
    if type_.shape is None:
        return None
    static = [d if isinstance(d, int) else None for d in type_.shape]
    fits = len(static) == len(written.shape) and all(
        d in (None, s) for d, s in zip(static, written.shape, strict=True)
    )
    return None if fits else f"found shape {list(written.shape)}, expected {type_}"


def _called(written: Written) -> str:
    if not isinstance(written, tuple):
        return "a tensor"
    name = constructor_of(written)
    return (
        f"a tuple of {len(written)}" if name is None else f"{name} with {len(written) - 1} fields"
    )
