"""Types name what the module declares: data types with so many arguments, and its roles."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import final

from reference_vm.diagnostics import Diagnostic, catalog
from reference_vm.ir.nodes import Adt, Closure, Function
from reference_vm.ir.rules.declarations import Declarations
from reference_vm.ir.rules.events import Bound, Opened, events
from reference_vm.source import Span
from reference_vm.types import AdtType, FunctionType, TensorType, TupleType, Type


def walk(type_: Type) -> Iterator[Type]:
    """Yield ``type_`` and all types in it, in text order."""
    stack: list[Type] = [type_]
    while stack:
        top = stack.pop()
        yield top
        match top:
            case TupleType(items=items):
                stack.extend(reversed(items))
            case FunctionType(params=params, result=result):
                stack.extend((result, *reversed(params)))
            case AdtType(args=args):
                stack.extend(reversed(args))


@final
@dataclass(slots=True)
class TypeRule:
    """Checks types against the declarations; remembers which are well formed."""

    declared: Declarations
    known: set[Type] = field(default_factory=set)

    def check(self, function: Function) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each wrong type in ``function``."""
        for event in events(function):
            if isinstance(event, Opened):
                for var in event.bound:
                    yield from self._type(var.type, var.span)
                if isinstance(event.owner, Function | Closure):
                    yield from self._type(event.owner.result, event.owner.span)
            elif isinstance(event, Bound):
                var = event.binding.var
                yield from self._type(var.type, var.span)

    def check_adt(self, adt: Adt) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each wrong type in the fields of ``adt``."""
        for constructor in adt.constructors:
            for field_ in constructor.fields:
                for part in walk(field_):
                    yield from self._part(part, constructor.span or adt.span, adt.params)

    def _type(self, type_: Type | None, span: Span | None) -> Iterator[Diagnostic]:
        if type_ is None or type_ in self.known:
            return
        found = [problem for part in walk(type_) for problem in self._part(part, span, ())]
        if not found:
            self.known.add(type_)
        yield from found

    def _part(
        self, type_: Type, span: Span | None, params: Collection[str]
    ) -> Iterator[Diagnostic]:
        match type_:
            case TensorType(vdevice=vdevice) if vdevice is not None:
                if vdevice not in self.declared.vdevices:
                    known = sorted(v.role for v in self.declared.vdevices)
                    yield catalog.unknown_vdevice(vdevice.role, known, span)
            case AdtType(name=name, args=args):
                yield from self._adt(name, len(args), span, params)
            case _:
                return

    def _adt(
        self, name: str, found: int, span: Span | None, params: Collection[str]
    ) -> Iterator[Diagnostic]:
        if name in params:
            if found:
                yield catalog.type_arity(name, found, 0, span)
            return
        adt = self.declared.adts.get(name)
        if adt is None:
            yield catalog.unknown_type(name, [*params, *self.declared.adts], span)
        elif found != len(adt.params):
            yield catalog.type_arity(name, found, len(adt.params), span)
