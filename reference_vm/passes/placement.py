"""The rules of `planning.md` section 2: a device for every value of a function.

In this order: requests and pinned results, host facts, groups by what pulls them, then parameters
and constants by who reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.groups import Group, groups
from reference_vm.analysis.host_facts import host_operations
from reference_vm.analysis.sizes import nominal_bytes
from reference_vm.analysis.values import Means, Operation, Origin, Use, Value
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Bound
from reference_vm.passes.contested_groups import Contest, Net, Settlement, settle
from reference_vm.types import VirtualDevice


@final
@dataclass(frozen=True, slots=True)
class Places:
    """The devices that a function may be placed on."""

    host: VirtualDevice
    default: VirtualDevice
    order: tuple[VirtualDevice, ...]
    """All of them, in the order of the device map."""


@final
@dataclass(frozen=True, slots=True)
class Placement:
    """What was decided."""

    devices: tuple[VirtualDevice, ...]
    """Of each value."""

    proven: bool
    """Whether no plan moves less."""

    contests: tuple[tuple[Contest, Settlement], ...] = ()
    """Each group that several devices pull, and how it was shared out."""

    groups: tuple[Group, ...] = ()
    facts: frozenset[int] = frozenset()
    """The operations that are on the host because they compute shapes or conditions."""


def place(
    graph: FunctionValues,
    places: Places,
    bounds: Sequence[Bound] = (),
    nominal: Mapping[str, int] | None = None,
) -> Placement:
    """Return the device of each value of ``graph``.

    Raises:
        CompileError: The results of one operator are pinned to several devices.
    """
    return _Rules(graph, places, bounds, nominal or {}).run()


class _Rules:
    """Fills in the device of each operation, then of each value."""

    def __init__(
        self,
        graph: FunctionValues,
        places: Places,
        bounds: Sequence[Bound],
        nominal: Mapping[str, int],
    ) -> None:
        self.graph = graph
        self.places = places
        self.bounds = bounds
        self.nominal = nominal
        self.on: dict[int, VirtualDevice] = {}
        """The device of each operation that has one yet."""

    def run(self) -> Placement:
        for operation in self.graph.operations:
            fixed = self.places.host if operation.on_host else self._fixed(operation)
            if fixed is not None:
                self.on[operation.index] = fixed
        free = [o.index for o in self.graph.operations if o.index not in self.on]
        facts = host_operations(self.graph, free)
        self.on.update(dict.fromkeys(facts, self.places.host))
        found = [self._with_neighbours(g) for g in groups(self.graph, self._unrequested(facts))]
        for group in found:
            if len(group.pulls) <= 1:
                device = next(iter(group.pulls), self.places.default)
                self.on.update(dict.fromkeys(self._open(group), device))
        contests = [self._contest(group) for group in found if len(group.pulls) > 1]
        settled = tuple((contest, settle(contest)) for contest in contests)
        for _, settlement in settled:
            self.on.update(settlement.on)
        devices = tuple(self._device(value) for value in self.graph.values)
        proven = all(s.proven for _, s in settled)
        return Placement(devices, proven, settled, tuple(found), facts)

    def _fixed(self, operation: Operation) -> VirtualDevice | None:
        """Return where a request or the pins of its results say that ``operation`` runs."""
        if operation.request is not None:
            return operation.request
        pins = [p for v in operation.results if (p := self.graph.values[v].pin) is not None]
        for pin in pins:
            if pin != pins[0]:
                binding = operation.binding
                name, span = binding.var.name, binding.value.span or binding.var.span
                problem = catalog.results_apart(name, pins[0].role, pin.role, span)
                raise CompileError(problem)
        return pins[0] if pins else None

    def _unrequested(self, facts: frozenset[int]) -> list[int]:
        return [
            o.index
            for o in self.graph.operations
            if o.request is None and not o.on_host and o.index not in facts
        ]

    def _with_neighbours(self, group: Group) -> Group:
        """Let merged values that nothing pulls be where they are made and read."""
        operations = [self.graph.operations[i] for i in group.operations]
        if group.pulls or not all(o.merge for o in operations):
            return group
        makers = {self.graph.values[r.value].operation for o in operations for r in o.reads}
        around = {self.on[m] for m in makers if m is not None and m in self.on}
        for value in (self.graph.values[v] for o in operations for v in o.results):
            around |= self.readers(value)
        return replace(group, pulls=frozenset(around))

    def _open(self, group: Group) -> list[int]:
        return [i for i in group.operations if i not in self.on]

    def _contest(self, group: Group) -> Contest:
        """Return the question where the open operations of ``group`` run.

        Groups that are contested too are taken to be nowhere, so that the order of groups does
        not count.
        """
        operations = self.graph.operations
        open_ = sorted(self._open(group), key=lambda i: _name(operations[i]))
        order = (self.places.default, *self.places.order)
        return Contest(
            operations=tuple(open_),
            counted=frozenset(i for i in open_ if not operations[i].merge),
            devices=tuple(dict.fromkeys(d for d in order if d in group.pulls)),
            default=self.places.default,
            nets=tuple(self._nets(open_)),
        )

    def _nets(self, open_: Sequence[int]) -> Iterator[Net]:
        inside = frozenset(open_)
        operations = [self.graph.operations[i] for i in open_]
        touched = {v for o in operations for v in (*o.results, *(r.value for r in o.reads))}
        for index in sorted(touched):
            value = self.graph.values[index]
            if value.origin is Origin.CONSTANT:
                continue
            holders = {r.operation for r in value.reads if r.use is Use.OPERAND} & inside
            fixed = self.readers(value)
            if value.operation in inside:
                holders.add(value.operation)
            elif value.pin is not None or value.operation is not None:
                fixed.add(self._device(value))
            size = nominal_bytes(value.type, self.nominal, self.bounds)
            ends = sorted(h for h in holders if h is not None)
            yield Net(tuple(ends), frozenset(fixed), size)

    def _device(self, value: Value) -> VirtualDevice:
        if value.pin is not None:
            return value.pin
        if value.operation is not None:
            operation = self.graph.operations[value.operation]
            return operation.request or self.on[operation.index]
        readers = self.readers(value)
        if value.origin is Origin.PARAMETER and (not readers or self.places.host in readers):
            return self.places.host
        if not readers or self.places.default in readers:
            return self.places.default
        return next(device for device in self.places.order if device in readers)

    def readers(self, value: Value) -> set[VirtualDevice]:
        """Return the devices that read ``value``; a ``device_copy`` reads wherever it is."""
        found: set[VirtualDevice] = set()
        for read in value.reads:
            if read.use is Use.HOST:
                found.add(self.places.host)
            elif read.operation is not None:
                found.update({self.on[read.operation]} if read.operation in self.on else ())
            elif read.device is not None and read.means is not Means.COPY:
                found.add(read.device)
        return found


def _name(operation: Operation) -> tuple[str, int]:
    """Return a key that does not depend on the order of statements, if names differ."""
    var = operation.binding.var
    return (var.source or var.name, operation.index)


__all__ = ["Placement", "Places", "place"]
