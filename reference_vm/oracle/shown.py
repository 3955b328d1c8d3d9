"""By which names a run shows what an operator computed, and what it decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from reference_vm.ir.nodes import Alias, Call, Module, Project, Var
from reference_vm.ir.rewrite import walk
from reference_vm.oracle.catalog import DECISIONS

Array = NDArray[Any]


def name_of(where: str, var: Var) -> str:
    """Return the name by which a run shows a variable of the function ``where``."""
    return var.source or f"{where}/%{var.name}"


def shown_names(op: str, name: str) -> tuple[str, ...]:
    """Return the names by which a run shows the result of an operator, or its parts."""
    parts = DECISIONS.get(op, 1)
    return (name,) if parts == 1 else tuple(f"{name}[{part}]" for part in range(parts))


def with_parts(module: Module, observed: Mapping[str, Array]) -> Mapping[str, Array]:
    """Return what a run showed, parts of tuples also where they have a name of their own only.

    A run that shows ``%v = %q[0]`` shows the first result of the operator that made ``%q``.
    """
    found = dict(observed)
    for function in module.functions:
        same: dict[Var, str] = {}
        for binding in walk(function.body):
            own = name_of(function.name, binding.var)
            match binding.value:
                case Alias(var=var):
                    same[binding.var] = same.get(var, name_of(function.name, var))
                case Project(tuple=source, index=index):
                    part = f"{same.get(source, name_of(function.name, source))}[{index}]"
                    same[binding.var] = part
                    if own in found:
                        found.setdefault(part, found[own])
    return found


def decisions(module: Module) -> frozenset[str]:
    """Return what an evaluation takes from the run, by source name."""
    return frozenset(
        shown
        for function in module.functions
        for binding in walk(function.body)
        if isinstance(binding.value, Call) and binding.value.op in DECISIONS
        for shown in shown_names(binding.value.op, name_of(function.name, binding.var))
    )
