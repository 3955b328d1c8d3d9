"""The rules of `planning.md` section 2: a device for every value of a function.

In this order: pinned cells, requests and pinned results, host facts, groups by what pulls them,
the other cells, calls, then parameters and constants by who reads them.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.groups import Group, groups, wanted_on
from reference_vm.analysis.host_facts import host_operations
from reference_vm.analysis.signature import Pin, Signature
from reference_vm.analysis.sizes import nominal_bytes
from reference_vm.analysis.values import FunctionCall, Kind, Means, Operation, Origin, Use, Value
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import trampoline
from reference_vm.ir.nodes import Bound
from reference_vm.ir.trampoline import Steps
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

    def first(self, devices: Collection[VirtualDevice]) -> VirtualDevice:
        """Return the default if it is one of ``devices``, else the first in the map's order."""
        if self.default in devices:
            return self.default
        return next(device for device in self.order if device in devices)


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


class Callee(Protocol):
    """A function as a call sees it, which may still be being planned."""

    def param(self, leaf: int) -> VirtualDevice | None:
        """Return where leaf ``leaf`` of the parameters lives; ``None``: not known yet."""
        ...

    def result(self, leaf: int) -> VirtualDevice:
        """Return where leaf ``leaf`` of the result lives."""
        ...


class Callees(Protocol):
    """Who plans the functions that are called."""

    def callee(self, call: FunctionCall, signature: Signature) -> Steps[Callee]:
        """Return the function that ``call``, which decides ``signature``, goes to."""
        ...


def place(
    graph: FunctionValues,
    places: Places,
    bounds: Sequence[Bound] = (),
    nominal: Mapping[str, int] | None = None,
) -> Placement:
    """Return the device of each value of ``graph``, calls being left to the default device.

    Raises:
        CompileError: The results of one operator are pinned to several devices.
    """
    return trampoline.run(placing(graph, places, bounds, nominal or {}, None))


def placing(
    graph: FunctionValues,
    places: Places,
    bounds: Sequence[Bound],
    nominal: Mapping[str, int],
    callees: Callees | None,
) -> Steps[Placement]:
    """Return the device of each value of ``graph``; ``callees`` plans what it calls.

    Raises:
        CompileError: The results of one operator, or what one cell holds, are pinned to several
            devices.
    """
    return _Rules(graph, places, bounds, nominal).run(callees)


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
        self.on: list[VirtualDevice | None] = []
        """The device of each operation, as far as it has one yet."""

        self.known: dict[int, VirtualDevice] = {}
        """The device of each cell and of each result of a call, as far as it has one yet."""

        self.called: dict[int, Callee] = {}
        """Which function each call goes to."""

    def run(self, callees: Callees | None) -> Steps[Placement]:
        self._pin_cells()
        self.on = [self._fixed(operation) for operation in self.graph.operations]
        free = [
            i
            for i, device in enumerate(self.on)
            if device is None and self.graph.operations[i].kind is not Kind.CALL
        ]
        facts = host_operations(self.graph, free, self.places.host)
        for index in facts:
            self.on[index] = self.places.host
        found = self._groups(facts)
        contests = self._place_groups(found)
        self._place_cells()
        yield from self._place_calls(callees)
        proven = all(s.proven for _, s in contests)
        return Placement(self._devices(), proven, contests, found, facts)

    # Requests, pins and groups.

    def _fixed(self, operation: Operation) -> VirtualDevice | None:
        """Return where a request or the pins of its results say that ``operation`` runs."""
        if operation.kind is Kind.CALL:
            return None
        if operation.on_host:
            return self.places.host
        if operation.request is not None:
            return operation.request
        first: VirtualDevice | None = None
        for index in operation.results:
            pin = self.graph.values[index].pin
            if pin is not None and first is not None and pin != first:
                binding = operation.binding
                name, span = binding.var.name, binding.value.span or binding.var.span
                raise CompileError(catalog.results_apart(name, first.role, pin.role, span))
            first = first or pin
        return first

    def _groups(self, facts: frozenset[int]) -> tuple[Group, ...]:
        unrequested = [
            o.index
            for o in self.graph.operations
            if o.request is None
            and not o.on_host
            and o.kind is not Kind.CALL
            and o.index not in facts
        ]
        found = groups(self.graph, unrequested)
        idle = [group for group in found if self._is_idle(group)]
        if not idle:
            return found
        made = {v for g in idle for i in g.operations for v in self.graph.operations[i].results}
        readers = self._readers(made)
        return tuple(self._with_neighbours(g, readers) if self._is_idle(g) else g for g in found)

    def _is_idle(self, group: Group) -> bool:
        """Whether ``group`` is merged values alone, which nothing pulls."""
        return not group.pulls and all(self.graph.operations[i].merge for i in group.operations)

    def _with_neighbours(self, group: Group, readers: Mapping[int, set[VirtualDevice]]) -> Group:
        """Let merged values that nothing pulls be where they are made and read."""
        operations = [self.graph.operations[i] for i in group.operations]
        makers = {self.graph.values[v].operation for o in operations for v in o.operands}
        around = {self.on[m] for m in makers if m is not None}
        around |= {d for o in operations for v in o.results for d in readers[v]}
        return replace(group, pulls=frozenset(d for d in around if d is not None))

    def _place_groups(self, found: Sequence[Group]) -> tuple[tuple[Contest, Settlement], ...]:
        contested = []
        for group in found:
            if len(group.pulls) > 1:
                contested.append(group)
                continue
            device = next(iter(group.pulls), self.places.default)
            for index in group.operations:
                if self.on[index] is None:
                    self.on[index] = device
        contests = self._contests(contested)
        settled = tuple((contest, settle(contest)) for contest in contests)
        for _, settlement in settled:
            for index, device in settlement.on.items():
                self.on[index] = device
        return settled

    def _contests(self, contested: Sequence[Group]) -> list[Contest]:
        """Return for each group the question where its open operations run.

        Groups that are contested too are taken to be nowhere, so that the order of groups does
        not count.
        """
        if not contested:
            return []
        operations, values = self.graph.operations, self.graph.values
        open_ = [[i for i in g.operations if self.on[i] is None] for g in contested]
        touched = [
            {v for i in group for v in (*operations[i].results, *operations[i].operands)}
            for group in open_
        ]
        counted = {v for group in touched for v in group if values[v].origin is not Origin.CONSTANT}
        readers = self._readers(counted)
        found = []
        for group, inside, used in zip(contested, open_, touched, strict=True):
            inside.sort(key=lambda i: _name(operations[i]))
            order = (self.places.default, *self.places.order)
            found.append(
                Contest(
                    operations=tuple(inside),
                    counted=frozenset(i for i in inside if not operations[i].merge),
                    devices=tuple(dict.fromkeys(d for d in order if d in group.pulls)),
                    default=self.places.default,
                    nets=tuple(self._nets(inside, sorted(used & counted), readers)),
                )
            )
        return found

    def _nets(
        self,
        open_: Sequence[int],
        touched: Iterable[int],
        readers: Mapping[int, set[VirtualDevice]],
    ) -> Iterator[Net]:
        holders: dict[int, set[int]] = {}
        for index in open_:
            operation = self.graph.operations[index]
            for v in (*operation.results, *operation.operands):
                holders.setdefault(v, set()).add(index)
        for index in touched:
            value = self.graph.values[index]
            fixed = set(readers[index])
            if value.operation is None or value.operation not in holders[index]:
                home = self._home(value)
                fixed |= {home} if home is not None else set()
            size = nominal_bytes(value.type, self.nominal, self.bounds)
            yield Net(tuple(sorted(holders[index])), frozenset(fixed), size)

    def _home(self, value: Value) -> VirtualDevice | None:
        """Return where ``value`` lives, if that does not depend on who reads it."""
        if value.pin is not None:
            return value.pin
        if value.operation is None or self.graph.operations[value.operation].kind is Kind.CALL:
            return self.known.get(value.index)
        return self.on[value.operation]

    # Cells.

    def _pin_cells(self) -> None:
        """Give every cell the pin of those that are one with it."""
        values = self.graph.values
        for members in self.graph.cells.groups():
            pinned = [v for v in members if values[v].pin is not None]
            if not pinned:
                continue
            first = min(pinned, key=lambda v: (values[v].var.name, values[v].index))
            pin = values[first].pin
            for index in members:
                other = values[index].pin
                if other is not None and other != pin:
                    var = values[index].var
                    assert pin is not None
                    problem = catalog.contradicting_placement(
                        var.name, pin.role, other.role, var.span
                    )
                    raise CompileError(problem)
            for index in members:
                values[index].pin = pin

    def _place_cells(self) -> None:
        """Place the cells that nothing pins: by what is put there, then by who reads it."""
        open_ = {
            self.graph.cells.root(members[0]): members
            for members in self.graph.cells.groups()
            if self.graph.values[members[0]].pin is None
        }
        if not open_:
            return
        self._spread(open_)
        readers = self._readers([v for members in open_.values() for v in members])
        for root, members in list(open_.items()):
            devices = {d for v in members for d in readers[v]}
            if devices:
                self._settle(open_, root, devices)
        self._spread(open_)
        for root in list(open_):
            self._settle(open_, root, (self.places.default,))

    def _spread(self, open_: dict[int, tuple[int, ...]]) -> None:
        """Place every open cell that something placed is put into, until none is left."""
        cells = self.graph.cells
        while open_:
            found: dict[int, set[VirtualDevice]] = {}
            for value, cell in cells.stored:
                home = self._home(self.graph.values[value])
                if home is not None and cells.root(cell) in open_:
                    found.setdefault(cells.root(cell), set()).add(home)
            if not found:
                return
            for root, devices in found.items():
                self._settle(open_, root, devices)

    def _settle(
        self, open_: dict[int, tuple[int, ...]], root: int, devices: Collection[VirtualDevice]
    ) -> None:
        device = self.places.first(devices)
        for value in open_.pop(root):
            self.known[value] = device

    # Calls.

    def _place_calls(self, callees: Callees | None) -> Steps[None]:
        """Let each call, when all that it reads is placed, be planned; the first by name first."""
        waiting = _Waiting(self.graph)
        wanted = wanted_on(self.graph) if self.graph.calls else {}
        while callees is not None and (call := waiting.next()) is not None:
            callee: Callee = yield callees.callee(call, self._signature(call, wanted))
            self.called[call.operation] = callee
            for leaf, value in enumerate(call.results):
                self.known.setdefault(value, callee.result(leaf))

    def _signature(self, call: FunctionCall, wanted: Mapping[int, set[VirtualDevice]]) -> Signature:
        """Return what ``call`` decides about the function that it calls."""
        values = self.graph.values
        params: list[Pin | None] = []
        for index in call.arguments:
            home = self._home(values[index])
            pulls = values[index].pin is not None and values[index].pulls
            params.append(None if home is None else Pin(home, pulls))
        results: list[VirtualDevice | None] = []
        for index in call.results:
            home = values[index].pin or (
                self.known.get(index) if index in self.graph.cells else None
            )
            devices = wanted.get(index, set())
            results.append(home or (next(iter(devices)) if len(devices) == 1 else None))
        default = call.binding.request or self.places.default
        return Signature(tuple(params), tuple(results), default)

    # Parameters and constants.

    def _devices(self) -> tuple[VirtualDevice, ...]:
        values = self.graph.values
        homes = [self._home(value) for value in values]
        late = [i for i, home in enumerate(homes) if home is None]
        readers = self._readers(late)
        for index in late:
            homes[index] = self._by_readers(values[index], readers[index])
        assert None not in homes
        return tuple(home for home in homes if home is not None)

    def _by_readers(self, value: Value, readers: set[VirtualDevice]) -> VirtualDevice:
        host = self.places.host
        if value.origin is Origin.OPERATION:
            return self.places.default
        if value.origin is Origin.PARAMETER and (not readers or host in readers):
            return host
        return self.places.first(readers or (self.places.default,))

    def _readers(self, wanted: Iterable[int]) -> dict[int, set[VirtualDevice]]:
        """Return for each value which devices read it; a ``device_copy`` reads wherever it is."""
        found: dict[int, set[VirtualDevice]] = {v: set() for v in wanted}
        if not found:
            return found
        host = self.places.host
        for operation, device in zip(self.graph.operations, self.on, strict=True):
            if device is not None:
                for value in operation.operands:
                    if value in found:
                        found[value].add(device)
            for value in operation.host_operands:
                if value in found:
                    found[value].add(host)
        for read in self.graph.other_reads:
            if read.value in found and read.means is not Means.COPY:
                device = self._device_of(read.use, read.device, read.place, read.operation)
                if device is not None:
                    found[read.value].add(device)
        return found

    def _device_of(
        self, use: Use, device: VirtualDevice | None, place: int, operation: int | None
    ) -> VirtualDevice | None:
        if use is Use.HOST:
            return self.places.host
        if use is Use.STORE:
            return self._home(self.graph.values[place])
        if use is Use.ARGUMENT and operation is not None:
            callee = self.called.get(operation)
            return device if callee is None else callee.param(place)
        return device


class _Waiting:
    """The calls of a function in an order that its statements do not decide.

    Of those whose arguments no other waiting call makes, the first by name comes next.
    """

    def __init__(self, graph: FunctionValues) -> None:
        self.calls = {call.operation: call for call in graph.calls}
        self.blocked: dict[int, int] = {}
        self.blocks: dict[int, list[int]] = {}
        for call in graph.calls:
            makers = {graph.values[v].operation for v in call.arguments}
            before = [m for m in makers if m in self.calls and m is not None]
            self.blocked[call.operation] = len(before)
            for maker in before:
                self.blocks.setdefault(maker, []).append(call.operation)
        self.ready = [
            (_name(graph.operations[i]), i) for i, count in self.blocked.items() if not count
        ]
        heapq.heapify(self.ready)
        self.graph = graph

    def next(self) -> FunctionCall | None:
        """Return the next call, ``None`` when all have been returned."""
        if not self.ready:
            return None
        _, index = heapq.heappop(self.ready)
        for other in self.blocks.get(index, ()):
            self.blocked[other] -= 1
            if not self.blocked[other]:
                heapq.heappush(self.ready, (_name(self.graph.operations[other]), other))
        return self.calls[index]


def _name(operation: Operation) -> tuple[str, int]:
    """Return a key that does not depend on the order of statements, if names differ."""
    var = operation.binding.var
    return (var.source or var.name, operation.index)


__all__ = ["Callee", "Callees", "Placement", "Places", "place", "placing"]
