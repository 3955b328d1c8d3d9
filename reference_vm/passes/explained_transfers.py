"""What forces each transfer of a plan: where the value is, and who reads it elsewhere.

Copies are not predicted: each ``device_copy`` that ``insert-copies`` made is led back to the value
that it moves. Arguments, constants and results cross over without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, final

from reference_vm.analysis.values import Origin, Read, Use, Value
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Binding, Call, Function, Project, Var
from reference_vm.passes.explanation import Fact, Transfer
from reference_vm.passes.placement_reasons import span_of
from reference_vm.passes.plan_facts import PlanFacts, line_of, op_of
from reference_vm.types import VirtualDevice, tensors
from reference_vm.types.types import TupleType

COPY: Final = "device_copy"


@final
class TransferExplainer:
    """Explains the transfers of one function: ``local`` is ``planned`` with its copies."""

    def __init__(self, facts: PlanFacts, planned: Function, local: Function) -> None:
        self.facts = facts
        self.graph = facts.graph
        self.host = facts.places.host
        self.local = local
        self.made_in = {b.var: b for b in rewrite.walk(local.body)}
        self.kept = {*planned.params, *rewrite.bound(planned.body)}

    def run(self) -> tuple[Transfer, ...]:
        """Return the transfers: arguments, copies in program order, constants, results."""
        inside = (*self._copies(), *self._constants())
        if not self.facts.from_outside:
            return inside
        return (*self._arrivals(), *inside, *self._deliveries())

    def _arrivals(self) -> Iterator[Transfer]:
        """Yield the transfers of arguments from the caller's memory to their homes."""
        for value in self.graph.values:
            home = self.facts.home(value)
            if value.origin is Origin.PARAMETER and home != self.host:
                arrived = Fact(f"arguments arrive on {self.host}", line_of(value.var.span))
                reason = self.facts.reasons.of_value(value)
                why = Fact(f"it lives on {home}: {reason.text}", line_of(reason.span))
                yield self._transfer(value, home, "argument", None, arrived, (why,))

    def _copies(self) -> Iterator[Transfer]:
        for binding in rewrite.walk(self.local.body):
            if isinstance(binding.value, Call) and binding.value.op == COPY:
                yield self._copy(binding, binding.value)

    def _copy(self, binding: Binding, call: Call) -> Transfer:
        source = call.args[0]
        assert isinstance(source, Var)
        value = self.graph.values[self.facts.shown[self._values_held(source)[0]]]
        target = binding.var.vdevice
        cause, reader = str(call.attrs.get("cause", "explicit")), call.attrs.get("reader")
        assert reader is None or isinstance(reader, str)
        if binding.var in self.kept:
            line = line_of(span_of(binding))
            facts = [Fact(f"the program asks for it: %{binding.var.name} = device_copy", line)]
        else:
            facts = list(self._readers(value, target, reader))
        made = self._made(value, source.vdevice)
        transfer = self._transfer(value, target, cause, reader, made, facts)
        return replace(transfer, source=source.vdevice)

    def _made(self, value: Value, home: VirtualDevice) -> Fact:
        if value.operation is None:
            reason = self.facts.reasons.of_value(value)
            return Fact(f"it lives on {home}: {reason.text}", line_of(reason.span))
        return Fact(f"made on {home} by {self.facts.maker(value)}", self.facts.line(value))

    def _readers(self, value: Value, device: VirtualDevice, first: str | None) -> Iterator[Fact]:
        """Yield who reads ``value`` on ``device``, beginning with the one called ``first``.

        What is copied may itself be a copy, and who reads it may read what that was copied from.
        """
        found = self.facts.reads_on(value, device)
        while not found and value.source is not None:
            value = self.graph.values[value.source]
            found = self.facts.reads_on(value, device)
        found.sort(key=lambda r: r.binding is None or r.binding.var.source != first)
        yield from dict.fromkeys(self._read(r, device) for r in found)

    def _read(self, read: Read, device: VirtualDevice) -> Fact:
        if read.binding is None:
            return Fact(f"returned on {device}", line_of(self.facts.function.body.span))
        what = f"%{read.binding.var.name} = {op_of(read.binding)}"
        line = line_of(self.facts.reasons.span_of_read(read))
        if read.use is Use.HOST:
            return Fact(f"read by the host for {what}", line)
        if read.use is Use.ARGUMENT:
            return Fact(f"handed over on {device} to {what}", line)
        if read.use is Use.STORE:
            return Fact(f"held on {device} by {what}", line)
        return Fact(f"read on {device} by {what}", line)

    def _constants(self) -> Iterator[Transfer]:
        for value in self.graph.values:
            if value.origin is not Origin.CONSTANT:
                continue
            made = Fact("a constant comes with the program", self.facts.line(value))
            for device in dict.fromkeys(map(self.facts.reasons.device_of_read, value.reads)):
                if device is not None and device != self.host:
                    facts = tuple(self._readers(value, device, None))
                    yield self._transfer(value, device, "constant", None, made, facts)

    def _deliveries(self) -> Iterator[Transfer]:
        """Yield the transfers of results to the caller, who has only the host's memory."""
        values = self.graph.values_of(self.facts.function.body.result)
        for leaf, value in zip(tensors(self.facts.function.result), values, strict=True):
            home = leaf.vdevice or self.facts.home(value)
            if home != self.host:
                line = line_of(self.facts.function.body.span)
                fact = Fact("handed to the caller, in the host's memory", line)
                made = self._made(value, home)
                if home != self.facts.home(value):
                    made = Fact(f"returned on {home}", line)
                moved = self._transfer(value, self.host, "deliver", None, made, (fact,))
                yield replace(moved, source=home)

    def _transfer(
        self,
        value: Value,
        target: VirtualDevice,
        cause: str,
        reader: str | None,
        made: Fact,
        facts: Sequence[Fact],
    ) -> Transfer:
        arrives = cause in ("argument", "constant")
        source = self.host if arrives else self.facts.home(value)
        read, *others = facts
        size = self.facts.bytes(value)
        name = self.facts.name(value)
        return Transfer(
            value.index, name, source, target, cause, reader, made, read, tuple(others), size
        )

    def _values_held(self, var: Var) -> tuple[int, ...]:
        """Return the values that the leaves of a variable of the localised function are."""
        if var in self.kept:
            return tuple(v.index for v in self.graph.values_of(self.facts.var_of[var.name]))
        value = self.made_in[var].value
        if not isinstance(value, Project):
            own = self.facts.var_of.get(var.name) or self.facts.var_of[_before_moving(var)]
            return tuple(v.index for v in self.graph.values_of(own))
        whole = value.tuple.type
        assert isinstance(whole, TupleType)
        start = sum(1 for item in whole.items[: value.index] for _ in tensors(item))
        count = sum(1 for _ in tensors(whole.items[value.index]))
        return self._values_held(value.tuple)[start : start + count]


def _before_moving(var: Var) -> str:
    """Return the name of what a call binds, of what it hands over before that is moved."""
    return var.name.removesuffix(".call")


__all__ = ["TransferExplainer"]
