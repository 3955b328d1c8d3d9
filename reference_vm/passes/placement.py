"""The rules of `planning.md` section 2: a device for every value of a function.

In this order: pinned cells, requests and pinned results, host facts, groups by what pulls them,
the other cells (`cell_placer`), calls (`call_placer`), then parameters and constants by who reads
them (`homes`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.groups import Group, groups
from reference_vm.analysis.host_facts import host_operations
from reference_vm.analysis.loops import repeated
from reference_vm.analysis.recursion import mentioned
from reference_vm.analysis.sizes import nominal_bytes
from reference_vm.analysis.values import Kind, Operation, Origin, Value
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import trampoline
from reference_vm.ir.nodes import Bound, Var
from reference_vm.ir.trampoline import Steps
from reference_vm.passes.call_placer import Callees, CallPlacer, by_name
from reference_vm.passes.cell_placer import CellPlacer
from reference_vm.passes.contested_groups import TRIPS, Contest, Net, Settlement, settle
from reference_vm.passes.homes import Callee, Homes, Places
from reference_vm.types import VirtualDevice


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
    *,
    wait: bool = True,
) -> Steps[Placement]:
    """Return the device of each value of ``graph``; ``callees`` plans what it calls.

    With ``wait``, what they make of data types is where they have it.

    Raises:
        CompileError: The results of one operator, or what one cell holds, are pinned to several
            devices.
    """
    return _Rules(graph, places, bounds, nominal).run(callees, wait=wait)


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
        self.homes = Homes(graph, places)
        self.bounds = bounds
        self.nominal = nominal

    def run(self, callees: Callees | None, *, wait: bool) -> Steps[Placement]:
        cells = CellPlacer(self.homes)
        cells.pin()
        self.homes.on = [self._fixed(operation) for operation in self.graph.operations]
        free = [
            i
            for i, device in enumerate(self.homes.on)
            if device is None and self.graph.operations[i].kind is not Kind.CALL
        ]
        facts = host_operations(self.graph, free, self.places.host)
        for index in facts:
            self.homes.on[index] = self.places.host
        found = self._groups(facts)
        contests = self._place_groups(found)
        cells.place(wait=wait and callees is not None)
        if callees is not None:
            yield from CallPlacer(self.homes).place(callees)
        proven = all(s.proven for _, s in contests)
        return Placement(self.homes.devices(), proven, contests, found, facts)

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
        readers = self.homes.readers(made)
        return tuple(self._with_neighbours(g, readers) if self._is_idle(g) else g for g in found)

    def _is_idle(self, group: Group) -> bool:
        """Whether ``group`` is merged values alone, which nothing pulls."""
        return not group.pulls and all(self.graph.operations[i].merge for i in group.operations)

    def _with_neighbours(self, group: Group, readers: Mapping[int, set[VirtualDevice]]) -> Group:
        """Let merged values that nothing pulls be where they are made and read."""
        operations = [self.graph.operations[i] for i in group.operations]
        makers = {m for o in operations for v in o.operands for m in self._makers(v)}
        around = {self.homes.on[m] for m in makers if m is not None}
        around |= {self.graph.values[v].pin for o in operations for v in o.operands}
        around |= {d for o in operations for v in o.results for d in readers[v]}
        return replace(group, pulls=frozenset(d for d in around if d is not None))

    def _makers(self, value: int) -> Collection[int | None]:
        """Return the operations that make a value, or what is put into the cell that it is."""
        cells = self.graph.cells
        if value in cells:
            return self._put.get(cells.root(value), ())
        return (self.graph.values[value].operation,)

    @cached_property
    def _put(self) -> Mapping[int, set[int | None]]:
        """Which operations make what is put into each cell, by the root of the cell."""
        found: dict[int, set[int | None]] = {}
        for value, cell in self.graph.cells.stored:
            maker = self.graph.values[value].operation
            found.setdefault(self.graph.cells.root(cell), set()).add(maker)
        return found

    def _place_groups(self, found: Sequence[Group]) -> tuple[tuple[Contest, Settlement], ...]:
        contested = []
        for group in found:
            if len(group.pulls) > 1:
                contested.append(group)
                continue
            device = next(iter(group.pulls), self.places.default)
            for index in group.operations:
                if self.homes.on[index] is None:
                    self.homes.on[index] = device
        contests = self._contests(contested)
        settled = tuple((contest, settle(contest)) for contest in contests)
        for _, settlement in settled:
            for index, device in settlement.on.items():
                self.homes.on[index] = device
        return settled

    def _contests(self, contested: Sequence[Group]) -> list[Contest]:
        """Return for each group the question where its open operations run.

        Groups that are contested too are taken to be nowhere, so that the order of groups does
        not count.
        """
        if not contested:
            return []
        operations, values = self.graph.operations, self.graph.values
        open_ = [[i for i in g.operations if self.homes.on[i] is None] for g in contested]
        touched = [
            {v for i in group for v in (*operations[i].results, *operations[i].operands)}
            for group in open_
        ]
        counted = {v for group in touched for v in group if values[v].origin is not Origin.CONSTANT}
        readers = self.homes.readers(counted)
        found = []
        for group, inside, used in zip(contested, open_, touched, strict=True):
            inside.sort(key=lambda i: by_name(operations[i]))
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
                home = self.homes.home(value)
                fixed |= {home} if home is not None else set()
            size = nominal_bytes(value.type, self.nominal, self.bounds)
            times = TRIPS if self._is_in_trips(value) else 1
            yield Net(tuple(sorted(holders[index])), frozenset(fixed), size, times)

    def _is_in_trips(self, value: Value) -> bool:
        """Whether every trip of a loop has ``value``, and not the last alone."""
        if value.operation is None:
            return bool(self._repeated)
        return self.graph.operations[value.operation].binding.var in self._repeated

    @cached_property
    def _repeated(self) -> frozenset[Var]:
        """What every trip binds of a function that calls itself; of another nothing."""
        function = self.graph.function
        if function.name not in mentioned(function):
            return frozenset()
        return frozenset(b.var for b in repeated(function, {function.name}))


__all__ = ["Callee", "Callees", "Placement", "Places", "place", "placing"]
