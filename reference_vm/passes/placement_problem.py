"""What automatic placement decides: units of work, and the values that tie them together.

A *unit* is an operator, or the merged results of one ``if``, that nothing places yet. The cost of a
plan is the sum over operators of what each costs where it runs, and over values of the transfers
that `planning.md` section 3 counts: from where a value lives to each other device that reads it,
from the caller to a parameter's home, and from a result to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from reference_vm.analysis.function_values import NO_MODULE, FunctionValues
from reference_vm.analysis.host_facts import host_operations
from reference_vm.analysis.sizes import nominal_bytes
from reference_vm.analysis.values import Kind, Operation, Origin, Read, Use, Value
from reference_vm.analysis.work import work_of
from reference_vm.ir.nodes import Binding, Call, Function, Module, Var
from reference_vm.passes.context import PassContext, Policy
from reference_vm.passes.placement import Places
from reference_vm.types import TensorType, VirtualDevice, tensors

Assignment: TypeAlias = Mapping[int, VirtualDevice]
"""The device of each unit."""


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """What is placed together."""

    binding: Binding
    operations: tuple[int, ...]
    costs: Mapping[VirtualDevice, int]
    """In picoseconds; a device that lacks an element type is left out."""


@final
@dataclass(frozen=True, slots=True)
class Tie:
    """One value: where it lives, and who reads it."""

    bytes: int
    maker: int | None
    """The unit that makes it, and on whose device it lives."""

    home: VirtualDevice | None
    """Where it lives otherwise; ``None`` for a parameter that lives where it is read."""

    readers: tuple[int, ...]
    """The units that read it."""

    fixed: frozenset[VirtualDevice]
    """The devices that read it anyway."""

    arrives: bool
    """Whether it comes from the caller, on the host."""

    delivered: bool
    """Whether it goes to the caller from where it lives."""


@final
class Problem:
    """What there is to decide about one function, and what each decision costs."""

    def __init__(
        self,
        function: Function,
        ctx: PassContext,
        places: Places,
        candidates: Sequence[VirtualDevice],
        module: Module = NO_MODULE,
    ) -> None:
        self.function = function
        self.ctx = ctx
        self.places = places
        self.candidates = tuple(candidates)
        self.graph = FunctionValues(function, ctx.ops, module)
        self.unit_of: dict[int, int] = {}
        self.fixed_on = self._fixed()
        self.units = tuple(self._units())
        self.ties = tuple(t for v in self.graph.values if (t := self._tie(v)) is not None)
        self.base = self._fixed_cost()

    @property
    def is_whole(self) -> bool:
        """Whether the function says all: it calls nothing, and keeps nothing in data types."""
        return not self.graph.calls and all(v.origin is not Origin.CELL for v in self.graph.values)

    def _fixed(self) -> dict[int, VirtualDevice]:
        """Return the device of each operation that is not up to us."""
        on: dict[int, VirtualDevice] = {}
        for operation in self.graph.operations:
            pins = (self.graph.values[v].pin for v in operation.results)
            pinned = next((p for p in pins if p is not None), None)
            if operation.kind is Kind.CALL:
                on[operation.index] = pinned or self.places.default
            elif operation.on_host:
                on[operation.index] = self.places.host
            elif operation.request is not None or pinned is not None:
                on[operation.index] = operation.request or pinned or self.places.default
        free = [o.index for o in self.graph.operations if o.index not in on]
        on.update(dict.fromkeys(host_operations(self.graph, free), self.places.host))
        return on

    def _units(self) -> Iterator[Unit]:
        found: dict[Var, list[int]] = {}
        for operation in self.graph.operations:
            if operation.index not in self.fixed_on:
                found.setdefault(operation.binding.var, []).append(operation.index)
        for number, members in enumerate(found.values()):
            self.unit_of.update(dict.fromkeys(members, number))
            operation = self.graph.operations[members[0]]
            costs = {d: self._cost(operation, d) for d in self.candidates}
            able = {d: c for d, c in costs.items() if c is not None}
            able = able or {self.places.host: self._cost(operation, self.places.host) or 0}
            yield Unit(operation.binding, tuple(members), able)

    def _cost(self, operation: Operation, vdevice: VirtualDevice) -> int | None:
        """Return what ``operation`` costs there; ``None`` if the device lacks an element type."""
        device = vdevice.device
        assert device is not None, "the module is not bound"
        binding, missing = operation.binding, self.ctx.missing_dtypes.get(device, frozenset())
        held = [*operation.results, *(r.value for r in operation.reads if r.use is Use.OPERAND)]
        if any(self.graph.values[v].type.dtype.name in missing for v in held):
            return None
        op = self.ctx.ops.get(binding.value.op) if isinstance(binding.value, Call) else None
        if op is None:
            return 0
        work = work_of(binding, op, self.ctx.nominal, self.function.bounds)
        return self.ctx.costs.operator(device, binding.var.source, op.name, work)

    def _fixed_cost(self) -> int:
        return sum(self._cost(self.graph.operations[i], d) or 0 for i, d in self.fixed_on.items())

    def _tie(self, value: Value) -> Tie | None:
        if value.origin is Origin.CONSTANT:
            return None
        maker = None if value.operation is None else self.unit_of.get(value.operation)
        home = value.pin
        if home is None and maker is None and value.operation is not None:
            home = self.fixed_on[value.operation]
        if home is None and value.origin is Origin.CELL:
            home = self.places.default
        readers = dict.fromkeys(
            self.unit_of[r.operation]
            for r in value.reads
            if r.operation in self.unit_of and r.use is Use.OPERAND and r.operation is not None
        )
        fixed = frozenset(d for r in value.reads if (d := self._reader(r)) is not None)
        return Tie(
            self.bytes(value.type),
            maker if home is None else None,
            home,
            tuple(u for u in readers if u != maker or home is not None),
            fixed,
            value.origin is Origin.PARAMETER,
            value.index in self._unplaced_results(),
        )

    def _reader(self, read: Read) -> VirtualDevice | None:
        """Return the device of a reader that is not up to us."""
        if read.use is Use.HOST:
            return self.places.host
        if read.use is Use.ARGUMENT and read.operation is not None:
            return None
        if read.operation is not None:
            return self.fixed_on.get(read.operation)
        return read.device

    def _unplaced_results(self) -> frozenset[int]:
        values = self.graph.values_of(self.function.body.result)
        placed = zip(tensors(self.function.result), values, strict=True)
        return frozenset(v.index for leaf, v in placed if leaf.vdevice is None)

    def bytes(self, type_: TensorType) -> int:
        """Return the nominal bytes of a tensor."""
        return nominal_bytes(type_, self.ctx.nominal, self.function.bounds)

    def transfer(self, source: VirtualDevice, target: VirtualDevice, nbytes: int) -> int:
        """Return what one transfer costs, in picoseconds."""
        assert source.device is not None
        assert target.device is not None
        return self.ctx.costs.transfer(source.device, target.device, nbytes)

    def spread(self, tie: Tie, need: frozenset[VirtualDevice]) -> int:
        """Return what the transfers of a value that no unit makes cost, if ``need`` read it."""
        host = self.places.host
        home = tie.home or self.home_of_parameter(need)
        total = sum(self.transfer(home, d, tie.bytes) for d in need)
        if tie.arrives and tie.home is None and self.ctx.policy is Policy.REPLICATE:
            return sum(self.transfer(host, d, tie.bytes) for d in need)
        if tie.arrives:
            total += self.transfer(host, home, tie.bytes)
        if tie.delivered:
            total += self.transfer(home, host, tie.bytes)
        return total

    def made(self, tie: Tie, home: VirtualDevice, need: frozenset[VirtualDevice]) -> int:
        """Return what the transfers of a value made on ``home`` cost."""
        total = sum(self.transfer(home, d, tie.bytes) for d in need)
        if tie.delivered:
            total += self.transfer(home, self.places.host, tie.bytes)
        return total

    def home_of_parameter(self, need: frozenset[VirtualDevice]) -> VirtualDevice:
        """Return where a parameter without a pin lives if ``need`` read it (rule 7)."""
        if not need or self.places.host in need:
            return self.places.host
        if self.places.default in need:
            return self.places.default
        return next(d for d in self.places.order if d in need)

    def need(self, tie: Tie, on: Assignment) -> frozenset[VirtualDevice]:
        """Return the devices that read a value."""
        return tie.fixed | {on[u] for u in tie.readers}

    def total(self, on: Assignment) -> int:
        """Return what a plan costs, in picoseconds."""
        work = sum(unit.costs[on[i]] for i, unit in enumerate(self.units))
        return self.base + work + sum(self._moved(t, on) for t in self.ties)

    def _moved(self, tie: Tie, on: Assignment) -> int:
        need = self.need(tie, on)
        return self.spread(tie, need) if tie.maker is None else self.made(tie, on[tie.maker], need)

    def alone(self, device: VirtualDevice) -> dict[int, VirtualDevice]:
        """Return the plan of all units on ``device``, but for those that cannot run there."""
        return {
            i: device if device in u.costs else next(iter(u.costs))
            for i, u in enumerate(self.units)
        }


__all__ = ["Assignment", "Problem", "Tie", "Unit"]
