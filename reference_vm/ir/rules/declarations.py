"""What a module declares, and that it declares it once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import final

from reference_vm.diagnostics import Diagnostic, catalog
from reference_vm.ir.nodes import Adt, Constructor, Function, Module
from reference_vm.source import Span
from reference_vm.types import VirtualDevice


@final
@dataclass(frozen=True)
class Declarations:
    """The names of a module. Of two of one name the first counts."""

    functions: Mapping[str, Function]
    adts: Mapping[str, Adt]
    constructors: Mapping[str, tuple[Adt, Constructor]]
    vdevices: frozenset[VirtualDevice]

    @classmethod
    def of(cls, module: Module) -> Declarations:
        constructors: dict[str, tuple[Adt, Constructor]] = {}
        for adt in module.adts:
            for constructor in adt.constructors:
                constructors.setdefault(constructor.name, (adt, constructor))
        return cls(
            functions={f.name: f for f in reversed(module.functions)},
            adts={a.name: a for a in reversed(module.adts)},
            constructors=constructors,
            vdevices=frozenset(module.vdevices),
        )


def check(module: Module) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each role, function, type and constructor declared before."""
    yield from duplicate_vdevices((vdevice, None) for vdevice in module.vdevices)
    functions = ((f"@{f.name}", f.span) for f in module.functions)
    yield from _duplicates("function", functions)
    yield from _duplicates("type", ((a.name, a.span) for a in module.adts))
    constructors = ((c.name, c.span or a.span) for a in module.adts for c in a.constructors)
    yield from _duplicates("constructor", constructors)
    for adt in module.adts:
        yield from _duplicates("type", ((name, adt.span) for name in adt.params))


def duplicate_vdevices(
    declared: Iterable[tuple[VirtualDevice, Span | None]],
) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each role, and each device with its scope, declared before."""
    roles: set[str] = set()
    devices: dict[tuple[object, str], str] = {}
    for vdevice, span in declared:
        if vdevice.role in roles:
            yield catalog.duplicate_role(vdevice.role, span)
            continue
        roles.add(vdevice.role)
        if vdevice.device is None:
            continue
        key = (vdevice.device, vdevice.scope)
        if key in devices:
            device = f'"{vdevice.device}" in scope "{vdevice.scope}"'
            yield catalog.duplicate_vdevice(vdevice.role, devices[key], device, span)
        devices.setdefault(key, vdevice.role)


def _duplicates(kind: str, declared: Iterable[tuple[str, Span | None]]) -> Iterator[Diagnostic]:
    first: dict[str, Span | None] = {}
    for name, span in declared:
        if name in first:
            yield catalog.duplicate_declaration(kind, name, span, first[name])
        first.setdefault(name, span)
