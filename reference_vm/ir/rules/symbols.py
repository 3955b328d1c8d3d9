"""Every symbol in a dim is bound: it stands alone as a dim of a parameter or of a ``match_cast``.

A closure sees the symbols around it. A primitive function is a part of its caller that a pass cut
out, and uses the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

from reference_vm.diagnostics import Diagnostic, catalog
from reference_vm.ir.nodes import (
    Adt,
    Binding,
    Call,
    Closure,
    Expr,
    Function,
    Invoke,
    ShapeLiteral,
    Var,
)
from reference_vm.ir.rules.events import Bound, Closed, Event, Opened, Reading, events
from reference_vm.ir.rules.types import walk
from reference_vm.source import Span
from reference_vm.types import Attrs, AttrValue, Dim, Poly, ShapeType, TensorType, Type, Unknown
from reference_vm.types.dim import symbols


def check(function: Function) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each symbol that is used unbound, and for wrong bounds."""
    if function.is_primitive:
        return
    yield from _bounds(function)
    scope = _Symbols()
    for event in events(function):
        yield from scope.take(event)


def check_adt(adt: Adt) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each symbol in a field; nothing binds one there."""
    for constructor in adt.constructors:
        span = constructor.span or adt.span
        for symbol in sorted({s for t in constructor.fields for d in _dims(t) for s in symbols(d)}):
            yield catalog.unbound_dim(symbol, span)


def _bounds(function: Function) -> Iterator[Diagnostic]:
    bindable = {s for p in function.params if p.type is not None for s in _alone(p.type)}
    seen: set[str] = set()
    for bound in function.bounds:
        if bound.symbol not in bindable:
            yield catalog.unbound_dim(bound.symbol, function.span)
        if bound.symbol in seen:
            message = f"{bound.symbol} has bounds twice"
            yield catalog.invalid_bounds(message, function.span)
        seen.add(bound.symbol)
        if bound.upper is not None and bound.upper < bound.lower:
            message = f"no number is in {bound.symbol} in {bound.lower}..{bound.upper}"
            yield catalog.invalid_bounds(message, function.span)


def _dims(type_: Type) -> Iterator[Dim]:
    for part in walk(type_):
        if isinstance(part, TensorType):
            yield from part.shape or ()
        elif isinstance(part, ShapeType):
            yield from part.dims or ()


def _alone(type_: Type) -> Iterator[str]:
    """Yield the symbols that stand alone as a dim of ``type_``."""
    for dim in _dims(type_):
        if isinstance(dim, Poly) and len(dim.terms) == 1:
            monomial, factor = dim.terms[0]
            if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], str):
                yield monomial[0]


@final
@dataclass(slots=True)
class _Symbols:
    """The symbols that are bound at one point of a function."""

    bound: set[str] = field(default_factory=set)
    frames: list[list[str]] = field(default_factory=list)

    def take(self, event: Event) -> Iterator[Diagnostic]:
        match event:
            case Opened(bound=variables, owner=owner):
                self.frames.append([])
                self._bind(s for v in variables if v.type is not None for s in _alone(v.type))
                for var in variables:
                    yield from self._typed(var)
                if isinstance(owner, Function):
                    yield from self._attrs(owner.attrs, owner.span)
                if isinstance(owner, Function | Closure):
                    yield from self._type(owner.result, owner.span)
            case Reading(binding=binding):
                yield from self._expression(binding.value)
            case Bound(binding=binding):
                yield from self._binding(binding)
            case Closed():
                self.bound.difference_update(self.frames.pop())
            case _:
                return

    def _bind(self, names: Iterable[str]) -> None:
        new = [name for name in names if name not in self.bound]
        self.bound.update(new)
        self.frames[-1].extend(new)

    def _binding(self, binding: Binding) -> Iterator[Diagnostic]:
        type_ = binding.var.type
        if type_ is None:
            return
        if isinstance(binding.value, Call) and binding.value.op == "match_cast":
            self._bind(_alone(type_))
        yield from self._typed(binding.var)

    def _typed(self, var: Var) -> Iterator[Diagnostic]:
        if var.type is not None:
            yield from self._type(var.type, var.span)

    def _type(self, type_: Type, span: Span | None) -> Iterator[Diagnostic]:
        yield from self._used((s for d in _dims(type_) for s in symbols(d)), span)

    def _used(self, names: Iterable[str], span: Span | None) -> Iterator[Diagnostic]:
        for name in sorted(set(names) - self.bound):
            yield catalog.unbound_dim(name, span)

    def _expression(self, value: Expr) -> Iterator[Diagnostic]:
        match value:
            case Call(attrs=attrs) | Invoke(attrs=attrs):
                yield from self._attrs(attrs, value.span)
            case ShapeLiteral(dims=dims):
                if any(isinstance(d, Unknown) for d in dims):
                    yield catalog.unknown_shape_literal(value.span)
                yield from self._used((s for d in dims for s in symbols(d)), value.span)
            case _:
                return

    def _attrs(self, attrs: Attrs, span: Span | None) -> Iterator[Diagnostic]:
        if attrs:
            yield from self._used((s for value in attrs.values() for s in _symbols_in(value)), span)


def _symbols_in(value: AttrValue) -> Iterator[str]:
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(top)
        elif isinstance(top, Poly):
            yield from top.symbols
