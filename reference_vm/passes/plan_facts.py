"""What `explain` knows of one function: its values, their places, and what to call things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import final

from reference_vm.analysis.sizes import nominal_bytes
from reference_vm.analysis.values import Means, Origin, Read, Value
from reference_vm.ir.nodes import Binding, Call, GlobalRef, Invoke, Var
from reference_vm.passes.explanation import Fact
from reference_vm.passes.instances import Instance, InstancePlanner
from reference_vm.passes.placement_reasons import Reasons
from reference_vm.source import Span
from reference_vm.types import TensorType, VirtualDevice


@final
class PlanFacts:
    """One function before planning, as the planner has placed it."""

    def __init__(
        self, name: str, instance: Instance, planner: InstancePlanner, asked: Mapping[Var, str]
    ) -> None:
        self.name_of_function = name
        self.instance = instance
        self.function = instance.function
        self.ctx = planner.ctx
        default = instance.signature.default or planner.places.default
        self.places = replace(planner.places, default=default)
        self.graph = instance.graph
        self.placement = instance.placement
        self.reasons = Reasons(instance, self.places, asked)
        entry = self.function in planner.module.entries
        self.from_outside = entry and name == self.function.name
        """Whether the caller of the program may call it."""

        self.var_of = {v.name: v for v in self.graph.indices}

    def home(self, value: Value) -> VirtualDevice:
        """Return where ``value`` lives."""
        return self.placement.devices[value.index]

    def name(self, value: Value) -> str:
        """Return what the trace calls ``value``; an item of a tuple has its index appended."""
        name = named(value.var)
        if isinstance(value.var.type, TensorType) or value.var not in self.graph.indices:
            return name
        items = [v.index for v in self.graph.values_of(value.var)]
        return f"{name}.{items.index(value.index)}" if value.index in items else name

    def maker(self, value: Value) -> str:
        """Return the operator that makes ``value``, or the word for where else it comes from."""
        if value.operation is not None:
            return op_of(self.graph.operations[value.operation].binding)
        if value.origin is Origin.MOVED and value.means is not None:
            return value.means.value
        return value.origin.name.lower()

    def line(self, value: Value) -> int | None:
        """Return the line on which ``value`` is made."""
        return line_of(self.reasons.span_of_var(value.var))

    def bytes(self, value: Value) -> int:
        """Return the bytes of ``value`` with symbols at their nominal sizes."""
        return nominal_bytes(value.type, self.ctx.nominal, self.function.bounds)

    @cached_property
    def shown(self) -> list[int]:
        """For each value, itself, or the value that it is moved from on one device."""
        same = list(range(len(self.graph.values)))
        on = self.placement.devices
        for value in self.graph.values:
            source = value.source
            if (
                source is not None
                and value.means is not Means.COPY
                and on[source] == self.home(value)
            ):
                same[value.index] = same[source]
        return same

    @cached_property
    def _seen_as(self) -> Mapping[int, list[int]]:
        found: dict[int, list[int]] = {}
        for value, same in enumerate(self.shown):
            found.setdefault(same, []).append(value)
        return found

    def reads_on(self, value: Value, device: VirtualDevice) -> list[Read]:
        """Return the reads on ``device`` of a value, or of what is moved from it where it is."""
        reads = (r for v in self._seen_as[value.index] for r in self.graph.values[v].reads)
        found = [r for r in reads if self.reasons.device_of_read(r) == device]
        found.sort(key=lambda r: line_of(self.reasons.span_of_read(r)) or 0)
        return found

    @cached_property
    def views(self) -> list[tuple[Fact, ...]]:
        """For each value, the variables that only show it, by name."""
        shown: list[list[Fact]] = [[] for _ in self.graph.values]
        for var in self.graph.indices:
            values = self.graph.values_of(var)
            if len(values) == 1 and values[0].var is not var:
                line = line_of(self.reasons.span_of_var(var))
                shown[values[0].index].append(Fact(named(var), line))
        return [tuple(names) for names in shown]


def named(var: Var) -> str:
    """Return what the trace calls a variable: ``main/%x``, or ``%x`` if a pass made it."""
    return var.source or f"%{var.name}"


def op_of(binding: Binding) -> str:
    """Return the operator of ``binding``, or the word for its expression."""
    value = binding.value
    if isinstance(value, Call):
        return value.op
    if isinstance(value, Invoke):
        callee = value.callee
        return f"@{callee.function}" if isinstance(callee, GlobalRef) else f"%{callee.name}"
    return type(value).__name__.lower()


def line_of(span: Span | None) -> int | None:
    """Return the line of ``span``."""
    return None if span is None else span.line


__all__ = ["PlanFacts", "line_of", "named", "op_of"]
