"""Request a device for every operator that nothing places, as a cost model says is cheapest.

``place-auto`` with the device map ``host=cpu:0,accel=sim:0``, before::

    %s = add(%a, %b) @host
    %t = matmul(%s, %w)
    %u = exp(%t)

After, if products are so much faster there that the transfers pay::

    %s = add(%a, %b) @host
    %t = matmul(%s, %w) @accel
    %u = exp(%t) @accel

What the program places stays where it is, and so do host facts. The function's attribute
``placement_auto`` says what the plan costs, whether it is proven to be the cheapest, and what all
on one device would cost. `cost_model` says what is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, final

from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir.nodes import Binding, Function, Module, Var
from reference_vm.passes import roles
from reference_vm.passes.auto_placement import Budgets, Decision, Overrun, decide
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.placement import Places
from reference_vm.passes.placement_problem import Problem
from reference_vm.passes.requests import role, with_requests, with_roles
from reference_vm.types import VirtualDevice

NOTE: Final = "placement_auto"
"""The attribute of a function that says how its placement was chosen."""


@final
@dataclass(frozen=True)
class PlaceAuto:
    """``place-auto``: request devices by cost."""

    name: ClassVar[str] = "place-auto"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED, Property.BOUND})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with a suffix on every operator that the program leaves open.

        Raises:
            CompileError: ``memory-budget``: no placement was found that keeps the budgets.
        """
        named = {name: role(module, ctx, name) for name in ctx.device_map}
        module = with_roles(module, named)
        candidates = tuple(dict.fromkeys(named.values())) or roles.in_order(module, ctx)
        places = Places(roles.host(module), roles.default(module, ctx), roles.in_order(module, ctx))
        budgets = {
            v: ctx.memory[v.device]
            for v in module.vdevices
            if v.device is not None and v.device in ctx.memory
        }
        problems: list[Diagnostic] = []
        functions = [
            _placed(Problem(f, ctx, places, candidates, module), budgets, problems)
            for f in module.functions
        ]
        if problems:
            raise CompileError(*problems)
        return module.with_functions(functions)


def _placed(problem: Problem, budgets: Budgets, problems: list[Diagnostic]) -> Function:
    found = decide(problem, budgets)
    if isinstance(found, Overrun):
        problems.append(_refused(found))
        return problem.function
    asked: Mapping[Var, VirtualDevice] = {
        unit.binding.var: found.on[number] for number, unit in enumerate(problem.units)
    }
    function = with_requests(problem.function, asked)
    return replace(function, attrs=function.attrs.with_(**{NOTE: _told(found)}))


def _told(decision: Decision) -> str:
    proven = "exact" if decision.exact else "heuristic, not proven cheapest"
    alone = ", ".join(f"all on {d} {_ns(c)}" for d, c in decision.alone.items())
    return f"{proven} ({decision.method}): {_ns(decision.cost)}; {alone}"


def _ns(picoseconds: int) -> str:
    return f"{-(-picoseconds // 1000)} ns"


def _refused(found: Overrun) -> Diagnostic:
    binding: Binding | None = found.peak.binding
    return catalog.memory_budget(
        str(found.device),
        found.budget,
        found.peak.bytes,
        None if binding is None else binding.var.name,
        None if binding is None else binding.value.span or binding.var.span,
        proven=found.proven,
    )


__all__ = ["NOTE", "PlaceAuto"]
