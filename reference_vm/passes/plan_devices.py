"""Decide where every operation runs and every value lives (`planning.md` section 2).

Before, with the default device ``@host``::

    fn @main(%a: f32[4], %b: f32[4]) -> f32[4] {
      %s = add(%a, %b) @accel
      %h = hint_on_device(%s) @accel
      %t = exp(%h)
      %u = exp(%a)
      return %t
    }

After::

    fn @main(%a: f32[4] @host, %b: f32[4] @accel) -> f32[4] @accel {
      %s: f32[4] @accel = add(%a, %b) @accel
      %h: f32[4] @accel = %s
      %t: f32[4] @accel = exp(%h) @accel
      %u: f32[4] @host = exp(%a) @host
      return %t
    }

Every tensor's type has its device afterwards and every operator its suffix; hints are gone. No copy
is made here: ``insert-copies`` moves what is read elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.values import MOVES, Means, is_view
from reference_vm.diagnostics import CompileError, Diagnostic
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Alias, Binding, Call, Constant, Function, Module, Var, Weight
from reference_vm.ops.definition import Trait
from reference_vm.passes import roles
from reference_vm.passes.context import PassContext, Policy, Property
from reference_vm.passes.placement import Places, place
from reference_vm.types import AttrValue, TensorType, Type, VirtualDevice, leaves, map_tensors

NOT_PROVEN: Final = "not proven minimal"
"""The value of the attribute ``placement`` of a function with a group too large to search."""


REPLICATED: Final = "replicated"
"""The attribute of a function that lists, under policy ``replicate``, which leaves of its
parameters the program places nowhere: these arrive on every device that reads them."""


@final
@dataclass(frozen=True)
class PlanDevices:
    """``plan-devices``: give every operation and every value its device."""

    name: ClassVar[str] = "plan-devices"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED, Property.BOUND})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.PLACED})

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with every tensor placed.

        Raises:
            CompileError: Requests contradict each other, or a construct is not lowered yet.
        """
        functions: list[Function] = []
        problems: list[Diagnostic] = []
        places = Places(
            host=roles.host(module),
            default=roles.default(module, ctx),
            order=roles.in_order(module, ctx),
        )
        for function in module.functions:
            try:
                functions.append(_planned(function, ctx, places))
            except CompileError as error:
                problems.extend(error.diagnostics)
        if problems:
            raise CompileError(*problems)
        return module.with_functions(functions)


def _planned(function: Function, ctx: PassContext, places: Places) -> Function:
    graph = FunctionValues(function, ctx.ops)
    placement = place(graph, places, function.bounds, ctx.nominal)
    planned = _Placer(graph, placement.devices, ctx, places.host).run(function)
    notes: dict[str, AttrValue] = {} if placement.proven else {"placement": NOT_PROVEN}
    unplaced = _unplaced_leaves(function)
    if ctx.policy is Policy.REPLICATE and unplaced:
        notes[REPLICATED] = unplaced
    return replace(planned, attrs=planned.attrs.with_(**notes)) if notes else planned


def _unplaced_leaves(function: Function) -> tuple[int, ...]:
    """Return which leaves of the parameters, counted through, the program places nowhere."""
    all_ = [leaf for p in function.params if p.type is not None for leaf in leaves(p.type)]
    return tuple(i for i, leaf in enumerate(all_) if leaf.vdevice is None)


class _Placer:
    """Writes the devices of one function's values into its types and suffixes."""

    def __init__(
        self,
        graph: FunctionValues,
        devices: Sequence[VirtualDevice],
        ctx: PassContext,
        host: VirtualDevice,
    ) -> None:
        self.graph = graph
        self.devices = devices
        self.ctx = ctx
        self.host = host
        self.renamed: dict[Var, Var] = {}

    def run(self, function: Function) -> Function:
        params = tuple(self._placed(param) for param in function.params)
        result = self._on(function.result, self._devices_of(function.body.result), keep=True)
        body = rewrite.rebuild(function.body, self._binding, self.renamed)
        return replace(function, params=params, result=result, body=body)

    def _devices_of(self, var: Var) -> list[VirtualDevice]:
        return [self.devices[value.index] for value in self.graph.values_of(var)]

    def _on(self, type_: Type, devices: list[VirtualDevice], *, keep: bool = False) -> Type:
        """Return ``type_`` with its leaves on ``devices``; ``keep`` those that have one."""
        rest = iter(devices)

        def placed(leaf: TensorType) -> TensorType:
            device = next(rest)
            return leaf if keep and leaf.vdevice is not None else leaf.on(device)

        return map_tensors(type_, placed)

    def _placed(self, var: Var) -> Var:
        assert var.type is not None
        devices = self._devices_of(var)
        new = rewrite.with_type(var, self._on(var.type, devices)) if devices else var
        self.renamed[var] = new
        return new

    def _binding(self, binding: Binding) -> list[Binding]:
        value = binding.value
        var = self._placed(binding.var)
        if isinstance(value, Constant | Weight):
            return [Binding(var, value, var.vdevice)]
        if not isinstance(value, Call):
            return [replace(binding, var=var)]
        if MOVES.get(value.op) is Means.HINT:
            source = value.args[0]
            assert isinstance(source, Var)
            return [Binding(var, Alias(source, value.span))]
        return self._call(binding, value, var)

    def _call(self, binding: Binding, call: Call, var: Var) -> list[Binding]:
        op = self.ctx.ops[call.op]
        devices = self._devices_of(binding.var)
        if is_view(binding, call, op) or not devices:
            return [replace(binding, var=var)]
        if not op.has(Trait.HOST) or devices[0] == self.host:
            return [Binding(var, call, devices[0])]
        made = rewrite.with_type(var, var.tensor.on(self.host))
        moved = Call(Means.FIXED.value, (made,), span=call.span)
        return [Binding(made, call, self.host), Binding(var, moved, devices[0])]


__all__ = ["NOT_PROVEN", "REPLICATED", "PlanDevices"]
