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

A function is planned for each way in which its calls place its parameters and results; the second
and later plans are functions of their own, ``@f.1``. Functions marked ``primitive`` are kernels,
placed before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final, final

from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Adt, Constructor, Function, Module
from reference_vm.passes import roles
from reference_vm.passes.context import PassContext, Policy, Property
from reference_vm.passes.instances import Instance, InstancePlanner, named_instances
from reference_vm.passes.placement import Places
from reference_vm.passes.placer import Placer
from reference_vm.passes.policies import Policies
from reference_vm.passes.properties import is_placed
from reference_vm.types import Attrs, AttrValue, TensorType, VirtualDevice, leaves, map_tensors

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
            CompileError: Requests contradict each other, or a kernel is not placed.
        """
        planner = plan(module, ctx)
        module, host = planner.module, planner.places.host
        planned: dict[str, list[Function]] = {}
        for name, instance, names in named_instances(planner):
            placed = Placer(instance, names, ctx.ops, host).run()
            own = planned.setdefault(instance.function.name, [])
            own.append(_named(placed, name, instance, ctx.policy))
        return module.with_functions(
            [made for f in module.functions for made in planned.get(f.name, [f])]
        )


def plan(module: Module, ctx: PassContext) -> InstancePlanner:
    """Plan the entries as called from outside, then what is called from nowhere.

    Raises:
        CompileError: Requests contradict each other, or a kernel is not placed.
    """
    places = Places(roles.host(module), roles.default(module, ctx), roles.in_order(module, ctx))
    planner = InstancePlanner(_with_declared_placed(module, places.default), ctx, places)
    problems: list[Diagnostic] = []
    by_name = planner.module.by_name
    entries = sorted(f.name for f in planner.module.entries)
    for name in (*entries, *sorted(by_name)):
        if name in planner.instances or by_name[name].is_primitive:
            continue
        try:
            planner.plan(name)
        except CompileError as error:
            problems.extend(error.diagnostics)
            planner.give_up()
    kernels = [f for f in planner.module.functions if f.is_primitive]
    for function in kernels:
        if function.name not in planner.instances:
            problems.extend(_unplaced(function))
    if problems:
        raise CompileError(*dict.fromkeys(problems))
    return planner


def _unplaced(kernel: Function) -> Iterator[Diagnostic]:
    """Yield the first thing in ``kernel`` that has no device, if there is one."""
    for var in (*kernel.params, *rewrite.bound(kernel.body)):
        if not is_placed(var.type):
            yield catalog.unplaced_kernel(kernel.name, f"%{var.name}", var.span)
            return
    if not is_placed(kernel.result):
        result = kernel.body.result
        yield catalog.unplaced_kernel(kernel.name, "the result", result.span or kernel.span)


def _with_declared_placed(module: Module, default: VirtualDevice) -> Module:
    """Return ``module`` with the tensors that data types declare placed.

    They are where they say, or else on the default device.
    """

    def placed(type_: TensorType) -> TensorType:
        return type_ if type_.vdevice is not None else type_.on(default)

    def constructor(old: Constructor) -> Constructor:
        return replace(old, fields=tuple(map_tensors(t, placed) for t in old.fields))

    def adt(old: Adt) -> Adt:
        return replace(old, constructors=tuple(map(constructor, old.constructors)))

    return replace(module, adts=tuple(map(adt, module.adts))) if module.adts else module


def _named(function: Function, name: str, instance: Instance, policy: Policy) -> Function:
    """Return the placed function under its name, with what has to be noted about it."""
    notes: dict[str, AttrValue] = {}
    if not instance.placement.proven:
        notes["placement"] = NOT_PROVEN
    replicated = _replicated_leaves(instance, policy)
    if replicated:
        notes[REPLICATED] = replicated
    attrs = function.attrs
    if name != instance.function.name and "entry" in attrs:
        attrs = Attrs({k: v for k, v in attrs.items() if k != "entry"})
    return replace(function, name=name, attrs=attrs.with_(**notes) if notes else attrs)


def _replicated_leaves(instance: Instance, policy: Policy) -> tuple[int, ...]:
    """Return which leaves of the parameters, counted through, arrive wherever they are read.

    These are such as nothing places, and whose policy says so.
    """
    policies = Policies.of(instance.function, policy)
    all_ = [
        (leaf, policies.policy(p))
        for p in instance.function.params
        if p.type is not None
        for leaf in leaves(p.type)
    ]
    return tuple(
        i
        for i, (leaf, own) in enumerate(all_)
        if own is Policy.REPLICATE and leaf.vdevice is None and instance.signature.param(i) is None
    )


__all__ = ["NOT_PROVEN", "REPLICATED", "PlanDevices", "plan"]
