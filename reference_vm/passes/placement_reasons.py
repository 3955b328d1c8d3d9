"""Why each value of a function lives where it lives: the rule that decided, and where it stands.

For the function::

    fn @main(%a: f32[4]) -> f32[4] {
      %s = add(%a, %a) @accel
      %t = exp(%s)
      return %t
    }

the answer is that ``%a`` lives on ``@accel`` as the only device that reads it (rule 7), ``%s`` by
its suffix (rule 1), and ``%t`` on the default device, since nothing pulls its group (rule 5). The
rules are those of `placement`, which decides; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import final

from reference_vm.analysis.groups import Group
from reference_vm.analysis.values import Kind, Means, Operation, Origin, Read, Use, Value
from reference_vm.ir.nodes import Binding, Var
from reference_vm.ir.rewrite import walk
from reference_vm.passes.instances import Instance
from reference_vm.passes.placement import Places
from reference_vm.source import Span
from reference_vm.types import VirtualDevice


class Rule(Enum):
    """A rule of `planning.md` section 2, and what to call it."""

    REQUEST = "request"
    PIN = "pin"
    HINT = "hint"
    HOST_OPERATOR = "host operator"
    HOST_FACT = "host fact"
    GROUP = "group"
    DEFAULT = "default"
    CONTESTED = "contested"
    PARAMETER = "parameter"
    CONSTANT = "constant"
    CONTAINED = "contained"
    CALL = "call"
    VIEW = "view"

    @property
    def number(self) -> int | None:
        """The rule's number; ``None`` for a view, which has no place of its own."""
        return _NUMBERS.get(self)


_NUMBERS = {
    Rule.REQUEST: 1,
    Rule.PIN: 2,
    Rule.HINT: 2,
    Rule.HOST_OPERATOR: 3,
    Rule.HOST_FACT: 3,
    Rule.GROUP: 5,
    Rule.DEFAULT: 5,
    Rule.CONTESTED: 6,
    Rule.PARAMETER: 7,
    Rule.CONSTANT: 8,
    Rule.CONTAINED: 9,
    Rule.CALL: 10,
}


@final
@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is where it is."""

    rule: Rule
    text: str
    """What the rule found, without the place."""

    span: Span | None = None
    """Where what it found is written."""


@final
class Reasons:
    """The reasons for the places of one function's values."""

    def __init__(self, instance: Instance, places: Places, asked: Mapping[Var, str]) -> None:
        self.instance = instance
        self.graph = instance.graph
        self.placement = instance.placement
        self.places = places
        self.asked = asked
        """Who requests the device of a variable, if it is not the program."""

        bound = walk(instance.function.body)
        self.bindings: Mapping[Var, Binding] = {b.var: b for b in bound}

    def of_value(self, value: Value) -> Reason:
        """Return why ``value`` lives where it lives."""
        if value.origin is Origin.CONSTANT:
            return self._constant(value)
        if value.origin is Origin.PARAMETER:
            return self._parameter(value)
        if value.origin is Origin.MOVED:
            return self._moved(value)
        if value.origin is Origin.CELL:
            return self._contained(value)
        assert value.operation is not None
        operation = self.graph.operations[value.operation]
        if value.pin is not None:
            return self._pinned(value, operation)
        return self.of_operation(operation)

    def of_operation(self, operation: Operation) -> Reason:
        """Return why ``operation`` runs where it runs."""
        span = span_of(operation.binding)
        if operation.kind is Kind.CALL:
            return Reason(Rule.CALL, "the function hands it over there", span)
        if operation.on_host:
            return Reason(Rule.HOST_OPERATOR, "computes shapes, as the host does", span)
        if operation.request is not None:
            return self._request(operation.binding, operation.request)
        for index in operation.results:
            if (pin := self.graph.values[index].pin) is not None:
                return Reason(Rule.PIN, f"its result is typed {pin}", span)
        if operation.index in self.placement.facts:
            return self._fact(operation)
        group = self.group_of(operation)
        if len(group.pulls) > 1:
            pulling = " and ".join(str(d) for d in self.places.order if d in group.pulls)
            text = f"its group of {_operators(group)} is pulled to {pulling}: the cheapest cut"
            return Reason(Rule.CONTESTED, text, span)
        if not group.pulls:
            return Reason(Rule.DEFAULT, "nothing pulls it: the default device", span)
        return self._pulled(operation, group)

    @cached_property
    def _group_of(self) -> Mapping[int, Group]:
        return {i: group for group in self.placement.groups for i in group.operations}

    def group_of(self, operation: Operation) -> Group:
        """Return the group of an operation that nothing places."""
        return self._group_of[operation.index]

    def _request(self, binding: Binding, device: VirtualDevice) -> Reason:
        by = self.asked.get(binding.var)
        text = f"requested: {device}" if by is None else f"requested by {by}: {device}"
        return Reason(Rule.REQUEST, text, span_of(binding))

    def _pinned(self, value: Value, operation: Operation) -> Reason:
        if operation.merge and operation.binding.request is not None:
            return self._request(operation.binding, operation.binding.request)
        return Reason(Rule.PIN, f"typed {value.pin}", span_of(operation.binding))

    def _fact(self, operation: Operation) -> Reason:
        values = self.graph.values
        operands = [r for r in operation.reads if values[r.value].origin is not Origin.CONSTANT]
        span = span_of(operation.binding)
        if (operands or operation.host_facts) and all(map(self._reads_fact, operands)):
            return Reason(Rule.HOST_FACT, "computed from host facts alone", span)
        read = next(r for v in operation.results for r in values[v].reads)
        return Reason(Rule.HOST_FACT, "read by the host alone", self.span_of_read(read) or span)

    def _reads_fact(self, read: Read) -> bool:
        return self.graph.values[read.value].operation in self.placement.facts

    def _pulled(self, operation: Operation, group: Group) -> Reason:
        around = (f"made or read on {next(iter(group.pulls))}", None)
        text, span = next(self.pullers(group), around)
        if len(group.operations) > 1:
            text = f"its group of {_operators(group)} is pulled: {text}"
        return Reason(Rule.GROUP, text, span or span_of(operation.binding))

    def pullers(self, group: Group) -> Iterator[tuple[str, Span | None]]:
        """Yield what pulls ``group``, in program order, each with where it is written."""
        for index in group.operations:
            operation = self.graph.operations[index]
            for read in operation.reads:
                value = self.graph.values[read.value]
                if read.use is Use.OPERAND and value.pin is not None and value.pulls:
                    yield f"%{value.var.name} lives on {value.pin}", self.span_of_var(value.var)
            for result in operation.results:
                yield from self._result_pullers(self.graph.values[result])

    def _result_pullers(self, value: Value) -> Iterator[tuple[str, Span | None]]:
        if value.pin is not None:
            yield f"%{value.var.name} is typed {value.pin}", self.span_of_var(value.var)
        for read in value.reads:
            if read.use is Use.RESULT:
                yield f"%{value.var.name} is returned on {read.device}", self.span_of_var(value.var)
            elif read.pulls:
                how = "hinted to" if read.means is Means.HINT else "seen on"
                yield f"%{value.var.name} is {how} {read.device}", self.span_of_read(read)

    def _parameter(self, value: Value) -> Reason:
        if value.pin is not None:
            if value.type.vdevice is None:
                return Reason(Rule.CALL, f"a call hands it over on {value.pin}", value.var.span)
            return Reason(Rule.PIN, f"typed {value.pin}", value.var.span)
        home = self.placement.devices[value.index]
        reads = [r for r in value.reads if self.device_of_read(r) == home]
        if not reads:
            return Reason(Rule.PARAMETER, "no device reads it: the host", value.var.span)
        only = len({self.device_of_read(r) for r in value.reads} - {None}) == 1
        if only:
            text = f"only {home} reads it"
        elif home == self.places.host:
            text = "the host reads it"
        elif home == self.places.default:
            text = "the default device reads it"
        else:
            text = f"{home} is the first of the map that reads it"
        return Reason(Rule.PARAMETER, text, self.span_of_read(reads[0]))

    def _constant(self, value: Value) -> Reason:
        devices = dict.fromkeys(d for r in value.reads if (d := self.device_of_read(r)))
        span = self.span_of_var(value.var)
        if not devices:
            return Reason(Rule.CONSTANT, "no device reads it", span)
        read = " and ".join(map(str, devices))
        return Reason(Rule.CONSTANT, f"made at load where it is read: {read}", span)

    def _contained(self, value: Value) -> Reason:
        span = self.span_of_var(value.var)
        if value.type.vdevice is not None:
            return Reason(Rule.PIN, f"typed {value.pin}", span)
        return Reason(Rule.CONTAINED, "with all that is held in the same place", span)

    def _moved(self, value: Value) -> Reason:
        span = self.span_of_var(value.var)
        if value.means is Means.PIN:
            return Reason(Rule.PIN, f"placed on {value.pin}", span)
        assert value.means is not None
        rule = Rule.HINT if value.means is Means.HINT else Rule.PIN
        return Reason(rule, f"{value.means.value} to {value.pin}", span)

    def device_of_read(self, read: Read) -> VirtualDevice | None:
        """Return where ``read`` needs its value; ``None``: wherever it is."""
        if read.use is Use.HOST:
            return self.places.host
        if read.use is Use.STORE:
            return self.placement.devices[read.place]
        if read.use is Use.ARGUMENT and read.operation is not None:
            callee = self.instance.calls.get(read.operation)
            return None if callee is None else callee.param(read.place)
        if read.operation is None:
            return None if read.means is Means.COPY else read.device
        operation = self.graph.operations[read.operation]
        if operation.on_host or not operation.results:
            return self.places.host
        return self.placement.devices[operation.results[0]]

    def span_of_var(self, var: Var) -> Span | None:
        """Return where ``var`` is bound."""
        binding = self.bindings.get(var)
        return var.span if binding is None else span_of(binding)

    def span_of_read(self, read: Read) -> Span | None:
        """Return where ``read`` is written."""
        return None if read.binding is None else span_of(read.binding)


def span_of(binding: Binding) -> Span | None:
    """Return where ``binding`` is written."""
    return binding.value.span or binding.var.span


def _operators(group: Group) -> str:
    count = len(group.operations)
    return f"{count} operator{'s' * (count != 1)}"


__all__ = ["Reason", "Reasons", "Rule", "span_of"]
