"""Where the parameters of functions that call themselves live: where their trips move the least.

What a trip passes on to the next is a parameter's value too, so where the parameter lives decides
what each trip moves::

    fn @trips(%i: i64[], %x: f32[2]) -> f32[2] {
      %more = greater(%i, %zero)
      %r = if %more {
        %y = exp(%x) @accel           // each trip reads %x on @accel, and passes %y on
        %q = @trips(%j, %y)
        yield %q
      } else {
        yield %x                      // the last one alone wants it on @host
      }
      return %r
    }

``%x`` lives on ``@accel``: one copy before the first trip and one after the last. The question is
that of a contested group (`contested_groups`), with parameters in the place of operations, and
merged values and counters that nothing places: each value is a net, which weighs `TRIPS` times if
every trip reads it, once if only the first or the last does. Functions that call each other are one
question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.groups import result_pulls
from reference_vm.analysis.loops import goes_on, repeated
from reference_vm.analysis.sizes import nominal_bytes
from reference_vm.analysis.values import Kind, Means, Operation, Origin, Read, Use
from reference_vm.ir.nodes import Function, blocks
from reference_vm.passes.contested_groups import TRIPS, Contest, Net, settle
from reference_vm.passes.homes import Callee, Places
from reference_vm.passes.placement import Placement
from reference_vm.types import VirtualDevice

Leaf: TypeAlias = tuple[str, int]
"""A leaf of the parameters or of the result of a function, counted through."""

_Node: TypeAlias = tuple[str, str, int]
"""Who has no place yet, in an order that statements do not decide: a function, and in it the name
and the number of a parameter's leaf or of a merged value."""

_Held: TypeAlias = tuple[AbstractSet[_Node], AbstractSet[VirtualDevice], int, int]
"""Who holds a value, its bytes, and how often a copy of it counts."""


@final
@dataclass(frozen=True, slots=True)
class Member:
    """A function of a cycle of calls, placed as if the calls in the cycle read nothing."""

    function: Function
    graph: FunctionValues
    placement: Placement
    called: Mapping[int, Callee]
    """What the calls that leave the cycle go to, by their operation."""

    entered: Mapping[int, VirtualDevice]
    """Where leaves of the parameters come from, as far as a call from outside decides it."""


@final
@dataclass(frozen=True, slots=True)
class TripHomes:
    """What was decided; what nothing is known of is left out."""

    params: Mapping[Leaf, VirtualDevice]
    results: Mapping[Leaf, VirtualDevice]

    free_params: frozenset[Leaf]
    """Those that nothing reads, and so may be wherever a call has them."""

    free_results: frozenset[Leaf]
    """Those that are such a parameter."""


@final
@dataclass(slots=True)
class _Value:
    """Who holds one value in each trip, and who in the last one besides."""

    nodes: set[_Node] = field(default_factory=set)
    devices: set[VirtualDevice] = field(default_factory=set)
    last_nodes: set[_Node] = field(default_factory=set)
    last_devices: set[VirtualDevice] = field(default_factory=set)


def trip_homes(members: Sequence[Member], places: Places, nominal: Mapping[str, int]) -> TripHomes:
    """Return where the leaves of parameters and results live of which trips decide that."""
    cycle = {m.function.name: _Reader(m, places, nominal) for m in members}
    for reader in cycle.values():
        reader.count(cycle)
    inside = [held for reader in cycle.values() for held in reader.held(cycle)]
    coming = [held for reader in cycle.values() for held in reader.arguments()]
    numbers: dict[_Node, int] = {}
    nets: list[Net] = []
    for nodes, devices, size, times in (*inside, *coming):
        if nodes and (len(nodes) > 1 or devices):
            ends = sorted(numbers.setdefault(n, len(numbers)) for n in nodes)
            nets.append(Net(tuple(ends), frozenset(devices), size, times))
    on = _settled(nets, [numbers[n] for n in sorted(numbers)], places)
    homes = {node: on[n] for node, n in numbers.items() if n in on}
    bound = _bound(inside)
    params, results = dict[Leaf, _Node](), dict[Leaf, _Node]()
    returned: dict[Leaf, VirtualDevice] = {}
    for name, reader in cycle.items():
        params.update(((name, node[2]), node) for node in reader.open.values())
        for leaf in range(len(reader.graph.result)):
            where = reader.returned(leaf, cycle)
            if isinstance(where, VirtualDevice):
                returned[name, leaf] = where
            elif where is not None:
                results[name, leaf] = where
    returned.update((leaf, homes[node]) for leaf, node in results.items() if node in homes)
    return TripHomes(
        {leaf: homes[node] for leaf, node in params.items() if node in homes},
        returned,
        frozenset(leaf for leaf, node in params.items() if node not in bound),
        frozenset(leaf for leaf, node in results.items() if node not in bound),
    )


def _bound(held: Sequence[_Held]) -> set[_Node]:
    """Return the nodes that some device wants, or a value that is wanted there."""
    around: dict[_Node, set[_Node]] = {}
    for nodes, _, _, _ in held:
        for node in nodes:
            around.setdefault(node, set()).update(nodes)
    found = {node for nodes, devices, _, _ in held if devices for node in nodes}
    stack = list(found)
    while stack:
        new = around[stack.pop()] - found
        found |= new
        stack += new
    return found


def _settled(
    nets: Sequence[Net], order: Sequence[int], places: Places
) -> Mapping[int, VirtualDevice]:
    """Return where each node is; nothing if no device is wanted."""
    wanted = {d for net in nets for d in net.fixed}
    ranked = dict.fromkeys((places.host, places.default, *places.order))
    devices = tuple(d for d in ranked if d in wanted)
    if len(devices) < 2:
        return dict.fromkeys(order, devices[0]) if devices else {}
    contest = Contest(tuple(order), frozenset(), devices, places.default, tuple(nets))
    return settle(contest).on


@final
class _Reader:
    """Finds who holds the values of one function."""

    def __init__(self, member: Member, places: Places, nominal: Mapping[str, int]) -> None:
        self.member = member
        self.graph = member.graph
        self.devices = member.placement.devices
        self.places = places
        self.nominal = nominal
        self.open = self._open_parameters()
        self.callees = {c.operation: c for c in self.graph.calls}
        self.free = self._free_merges()

    def _free_merges(self) -> frozenset[int]:
        """Return the operations that merge values, and that nothing places."""
        operations = self.graph.operations
        return frozenset(
            i
            for group in self.member.placement.groups
            if all(operations[i].merge for i in group.operations)
            for i in group.operations
            if not any(result_pulls(self.graph, v) for v in operations[i].results)
        )

    def _open_parameters(self) -> Mapping[int, _Node]:
        """Return the nodes of the tensors among the parameters that the program places nowhere."""
        name, found = self.member.function.name, {}
        leaves = [v for p in self.member.function.params for v in self.graph.indices[p]]
        for leaf, index in enumerate(leaves):
            value = self.graph.values[index]
            if value.origin is Origin.PARAMETER and value.type.vdevice is None:
                found[index] = (name, "", leaf)
        return found

    def count(self, cycle: Mapping[str, _Reader]) -> None:
        """Let operations be nodes that compute what trips count with, in no place of their own.

        They are integral, and nobody reads them but the host, the next trip, and one another: where
        the next trip wants them on the host, they are host facts.
        """
        found = {
            o.index
            for o in self.graph.operations
            if self._may_count(o) and o.index not in self.free
        }
        while True:
            left = {o for o in found if not self._is_counted(o, found, cycle)}
            if not left:
                break
            found -= left
        self.free |= found

    def _may_count(self, operation: Operation) -> bool:
        if operation.kind is not Kind.OPERATOR or operation.request is not None:
            return False
        values = [self.graph.values[v] for v in operation.results]
        placed = operation.index in self.member.placement.facts or operation.on_host
        if placed or any(v.type.dtype.is_float or v.pin is not None for v in values):
            return False
        return bool(values) and self.graph.returned.isdisjoint(operation.results)

    def _is_counted(
        self, operation: int, found: AbstractSet[int], cycle: Mapping[str, _Reader]
    ) -> bool:
        facts = self.member.placement.facts
        for value in self.graph.operations[operation].results:
            for read in self.graph.reads_of(value):
                if read.use is Use.ARGUMENT and read.operation in self.callees:
                    callee = self.callees[read.operation].callee
                    counts = isinstance(self._argument(read, callee, cycle), tuple)
                else:
                    inside = read.use is Use.OPERAND and read.operation in found | facts
                    counts = read.use is Use.HOST or inside
                if not counts:
                    return False
        return True

    def node(self, index: int) -> _Node | None:
        """Return the node that decides where a value lives, if one does."""
        if index in self.open:
            return self.open[index]
        operation = self.graph.values[index].operation
        if operation is None or operation not in self.free:
            return None
        var = self.graph.operations[operation].binding.var
        return (self.member.function.name, var.source or var.name or "?", operation)

    def arguments(self) -> Iterator[_Held]:
        """Yield what a call from outside hands over: where it is, and where it will live."""
        for index, node in self.open.items():
            if (entered := self.member.entered.get(node[2])) is not None:
                yield {node}, {entered}, self._size(index), 1

    def held(self, cycle: Mapping[str, _Reader]) -> Iterator[_Held]:
        """Yield who holds each value in the function."""
        size = self._size
        values = self._values(cycle)
        for index in sorted(values):
            value = values[index]
            yield value.nodes, value.devices, size(index), TRIPS
            if value.last_nodes or value.last_devices:
                nodes, devices = set(value.last_nodes), set(value.last_devices)
                _add(self._home(index, cycle), nodes, devices)
                yield nodes, devices, size(index), 1

    def _size(self, index: int) -> int:
        function = self.member.function
        return nominal_bytes(self.graph.values[index].type, self.nominal, function.bounds)

    def _home(self, index: int, cycle: Mapping[str, _Reader]) -> _Node | VirtualDevice | None:
        """Return where a value lives; ``None``: what a call in the cycle makes, not known."""
        node = self.node(index)
        if node is not None:
            return node
        operation = self.graph.values[index].operation
        call = None if operation is None else self.callees.get(operation)
        if call is None:
            return self.devices[index]
        if call.callee not in cycle:
            outside = self.member.called.get(call.operation)
            follows = outside and outside.follows_result(call.results.index(index))
            return None if follows else self.devices[index]
        return cycle[call.callee].returned(call.results.index(index), cycle)

    def returned(
        self, leaf: int, cycle: Mapping[str, _Reader], seen: frozenset[str] = frozenset()
    ) -> _Node | VirtualDevice | None:
        """Return where a leaf of the result is made; ``None`` if only calls in the cycle make it.

        What is at once returned is where the function has it that is called.
        """
        name, value = self.member.function.name, self.graph.result[leaf]
        operation = self.graph.values[value].operation
        call = None if operation is None else self.callees.get(operation)
        if call is None or call.callee not in cycle:
            return self._home(value, cycle)
        if name in seen:
            return None
        inner = call.results.index(value)
        return cycle[call.callee].returned(inner, cycle, seen | {name})

    def _values(self, cycle: Mapping[str, _Reader]) -> Mapping[int, _Value]:
        found: dict[int, _Value] = {}
        for index, where, every in self._all_reads(cycle):
            value = self.graph.values[index]
            if where is None or value.origin in (Origin.CONSTANT, Origin.CELL):
                continue
            home = self._home(index, cycle)
            if home is None:
                continue
            if index not in found:
                known = found[index] = _Value()
                _add(home, known.nodes, known.devices)
            known = found[index]
            if every:
                _add(where, known.nodes, known.devices)
            else:
                _add(where, known.last_nodes, known.last_devices)
        return found

    def _all_reads(
        self, cycle: Mapping[str, _Reader]
    ) -> Iterator[tuple[int, _Node | VirtualDevice | None, bool]]:
        """Yield each read: of what, where, and whether every trip makes it."""
        names = cycle.keys()
        every = {b.var for b in repeated(self.member.function, names)}
        for operation in self.graph.operations:
            var = operation.binding.var
            where: _Node | VirtualDevice | None = self._runs(operation.index)
            if operation.results:
                where = self.node(operation.results[0]) or where
            going = _arms_going_on(operation, names) if operation.merge else ()
            for number, value in enumerate(operation.operands):
                yield value, where, var in every and (not any(going) or going[number])
            for value in operation.host_operands:
                yield value, self.places.host, var in every
        for read in self.graph.other_reads:
            again = read.binding is not None and read.binding.var in every
            yield read.value, self._read_at(read, cycle), again

    def _runs(self, operation: int) -> VirtualDevice:
        results = self.graph.operations[operation].results
        return self.devices[results[0]] if results else self.places.host

    def _read_at(self, read: Read, cycle: Mapping[str, _Reader]) -> _Node | VirtualDevice | None:
        """Return where a value is read by what is no operation."""
        if read.use is Use.HOST:
            return self.places.host
        if read.use is Use.STORE:
            return self.devices[read.place]
        if read.use is Use.ARGUMENT and read.operation in self.callees:
            return self._argument(read, self.callees[read.operation].callee, cycle)
        return None if read.means is Means.COPY else read.device

    def _argument(
        self, read: Read, callee: str, cycle: Mapping[str, _Reader]
    ) -> _Node | VirtualDevice | None:
        """Return where a call wants an argument: in the cycle, where the parameter will live."""
        assert read.operation is not None
        if read.operation in self.member.called:
            outside = self.member.called[read.operation]
            return None if outside.follows_param(read.place) else outside.param(read.place)
        if callee not in cycle:
            return read.device
        own = cycle[callee]
        params = [v for p in own.member.function.params for v in own.graph.indices[p]]
        return own.open.get(params[read.place]) or read.device


def _add(
    where: _Node | VirtualDevice | None, nodes: set[_Node], devices: set[VirtualDevice]
) -> None:
    if isinstance(where, VirtualDevice):
        devices.add(where)
    elif where is not None:
        nodes.add(where)


def _arms_going_on(operation: Operation, names: AbstractSet[str]) -> tuple[bool, ...]:
    """Say of each arm that a merge reads whether it calls a function of the cycle."""
    return tuple(goes_on(inner, names) for inner in blocks(operation.binding.value))


__all__ = ["Leaf", "Member", "TripHomes", "trip_homes"]
