"""The names that values have in an exported graph, nested as tuples are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, Union, final

from reference_vm.exchange.export_dims import SymbolSource
from reference_vm.ir.nodes import Function, Var
from reference_vm.types import UNKNOWN, Poly, ShapeType, TensorType, TupleType, Type, map_tensors

Named: TypeAlias = Union[str, tuple["Named", ...]]
"""The name of a value in the graph, nested as tuples are."""


@final
@dataclass(slots=True)
class Scope:
    """What the names of one function stand for."""

    where: str
    values: dict[Var, Named] = field(default_factory=dict)
    symbols: dict[str, SymbolSource] = field(default_factory=dict)

    def inner(self) -> Scope:
        return Scope(self.where, dict(self.values), dict(self.symbols))

    def bind(self, var: Var, value: Named) -> None:
        self.values[var] = value
        self._note_symbols(var.type, value)

    def _note_symbols(self, type_: Type | None, value: Named) -> None:
        if isinstance(type_, TupleType) and isinstance(value, tuple):
            for item, name in zip(type_.items, value, strict=True):
                self._note_symbols(item, name)
        if not isinstance(type_, TensorType | ShapeType) or not isinstance(value, str):
            return
        is_shape = isinstance(type_, ShapeType)
        dims = type_.dims if isinstance(type_, ShapeType) else type_.shape
        for axis, dim in enumerate(dims or ()):
            if isinstance(dim, Poly) and str(dim) in dim.symbols:
                self.symbols.setdefault(str(dim), SymbolSource(value, axis, is_shape))


def bound(function: Function, given: Sequence[Named], where: str) -> Scope:
    """Return a scope in which the parameters are what a call gives."""
    scope = Scope(where)
    for param, value in zip(function.params, given, strict=True):
        scope.bind(param, value)
    return scope


def known(var: Var) -> Type:
    assert var.type is not None, f"%{var.name} has no type"
    return var.type


def nested(type_: Type, names: Iterator[str]) -> Named:
    """Return names nested as ``type_`` is."""
    if isinstance(type_, TupleType):
        return tuple(nested(item, names) for item in type_.items)
    return next(names)


def loose(type_: Type) -> Type:
    """Return a type with all dims left open: a loop may carry another size on each trip."""
    return map_tensors(
        type_, lambda t: t if t.shape is None else TensorType(t.dtype, (UNKNOWN,) * len(t.shape))
    )


def leaves(value: Named, type_: Type) -> Iterator[tuple[str, Type]]:
    if isinstance(value, tuple) and isinstance(type_, TupleType):
        for item, kind in zip(value, type_.items, strict=True):
            yield from leaves(item, kind)
    elif isinstance(value, str):
        yield value, type_


__all__ = ["Named", "Scope", "bound", "known", "leaves", "loose", "nested"]
