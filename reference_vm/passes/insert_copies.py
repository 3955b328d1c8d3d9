"""Put a device copy wherever a value is read on another device than its own.

Before::

    %s: f32[4] @host = add(%a, %b) @host
    %t: f32[4] @accel = exp(%s) @accel
    %u: f32[4] @accel = multiply(%s, %t) @accel

After::

    %s: f32[4] @host = add(%a, %b) @host
    %s.accel: f32[4] @accel = device_copy(%s, cause = "read", line = 2, reader = "main/%t") @accel
    %t: f32[4] @accel = exp(%s.accel) @accel
    %u: f32[4] @accel = multiply(%s.accel, %t) @accel

One copy serves every later reader on its device. It stands before its first reader, and above an
``if`` only when every arm, or what follows, reads it, and what the trips of a loop read of a
parameter that they pass on is copied before the loop (`planning.md` section 4). A view is not
copied: it is made anew from the copy of what it shows. Constants are not copied either: each device
that reads one has its own. Where work runs was settled by ``plan-devices``; this pass moves data
only, never an operator.

Policy ``replicate`` calls the copies of parameters that the program left unplaced transfers of
arguments, policy ``error`` refuses copies with cause ``read``. A function may say both of some of
its values (`policies`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias, final

from reference_vm.analysis.faces import Faces
from reference_vm.analysis.locality import Demand, Locality, devices_of
from reference_vm.analysis.remote_reads import remote_reads
from reference_vm.analysis.wants import WantFinder
from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Binding, Call, Function, Module, Var
from reference_vm.passes import roles
from reference_vm.passes.context import PassContext, Policy, Property
from reference_vm.passes.copy_inserter import CopyInserter
from reference_vm.passes.held_values import HeldValues
from reference_vm.passes.loop_parameters import with_loop_parameters
from reference_vm.passes.plan_devices import REPLICATED
from reference_vm.passes.policies import Policies
from reference_vm.source import Span
from reference_vm.types import VirtualDevice, leaves

Place: TypeAlias = tuple[str, str, Span | None]
"""A role, what happens there, and where that is written."""


@final
@dataclass(frozen=True)
class InsertCopies:
    """``insert-copies``: make every operator read from its own device."""

    name: ClassVar[str] = "insert-copies"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.PLACED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.DEVICE_LOCAL})

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with every read local.

        Raises:
            CompileError: ``value-on-two-devices``, under policy ``error``.
        """
        problems: list[Diagnostic] = []
        module, copies = with_loop_parameters(module, ctx.ops, roles.host(module))
        functions = [
            f if f.is_primitive else _localized(f, module, ctx, copies.get(f.name, ()), problems)
            for f in module.functions
        ]
        if problems:
            raise CompileError(*problems)
        return module.with_functions(functions)


def _localized(
    function: Function,
    module: Module,
    ctx: PassContext,
    copies: Sequence[tuple[Var, Var]],
    problems: list[Diagnostic],
) -> Function:
    locality = Locality(Faces(function, ctx.ops), module, roles.host(module))
    end = _end(function, locality.faces)
    remote = remote_reads(function, locality, end)
    if remote.none:
        return function
    wants = WantFinder(locality, remote).block(function.body, end, None)
    held = HeldValues(locality.faces, _replicated(function, locality.faces))
    for param, copy in copies:
        held.hold(locality.faces.of[param][0], copy.vdevice, copy)
    body = CopyInserter(locality, held, remote).function(function, wants, end)
    policies = Policies.of(function, ctx.policy)
    if policies.refuses:
        problems.extend(_first_refused(function, locality, held, policies))
    return replace(function, body=body)


def _end(function: Function, faces: Faces) -> Demand:
    """Return where the result of ``function`` has to be."""
    result = function.body.result
    returned = (leaf.vdevice for leaf in leaves(function.result))
    places = (asked or own for asked, own in zip(returned, devices_of(result), strict=True))
    return Demand(faces.of[result], tuple(places), "result")


def _replicated(function: Function, faces: Faces) -> frozenset[int]:
    """Return the faces of parameters that arrive on every device that reads them."""
    arriving = [face for p in function.params for face in faces.of[p]]
    listed = function.attrs.get(REPLICATED)
    assert listed is None or isinstance(listed, tuple)
    return frozenset(face for leaf, face in enumerate(arriving) if leaf in (listed or ()))


def _first_refused(
    function: Function, locality: Locality, held: HeldValues, policies: Policies
) -> Iterator[Diagnostic]:
    """Yield what is wrong with the first value, in text order, that a read is copied for."""
    holders = locality.faces.holders
    copied = [
        c
        for c in held.copied
        if c[2].cause == "read" and policies.policy(holders[c[0]]) is Policy.ERROR
    ]
    if copied:
        face, device, reader = min(copied, key=lambda c: c[0])
        yield catalog.value_on_two_devices(
            locality.faces.holders[face].name,
            _at_home(function, face, locality),
            _place(device, "read", reader.binding),
        )


def _at_home(function: Function, face: int, locality: Locality) -> Place:
    """Return who reads a value where it lives, or else who makes it."""
    faces, home = locality.faces, locality.faces.home(face)
    var, made = faces.holders[face], None
    for binding in rewrite.walk(function.body):
        if binding.var is var:
            made = binding
        for demand in locality.demands(binding):
            here = zip(demand.faces, demand.devices, strict=True)
            if any(faces.roots[f] == face and device == home for f, device in here):
                return _place(home, "read", binding)
    if made is None or not _is_made(made):
        return (home.role, "placed", var.span)
    return _place(home, "made", made)


def _is_made(binding: Binding) -> bool:
    """Whether ``binding`` computes its value, rather than shows or moves another."""
    return isinstance(binding.value, Call)


def _place(device: VirtualDevice, what: str, binding: Binding | None) -> Place:
    if binding is None:
        return (device.role, what, None)
    return (device.role, f"{what} by %{binding.var.name}", binding.value.span or binding.var.span)


__all__ = ["InsertCopies"]
