"""Mutants that run elsewhere than on the default device what nothing places."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from hettest.backend.protocol import Memory, Observation, Options, Reading
from hettest.expect.unplaced import runs
from hettest.language import Module, VirtualDevice, nodes
from reference_vm.types import DeviceName
from tests.mutants.mutant import Mutant, kill, only_reporting
from tests.mutants.programs import rewriting

_OTHER: Final = VirtualDevice("elsewhere", DeviceName("cpu", 0))
ACCELERATOR: Final = "sim:0"

ALONE: Final = "ops/add/inner_broadcast[column,default=sim:0]"
BRANCH: Final = "bugs/c25_control_flow/branch_gives_an_outer_value[then,default=sim:0]"
LOOP: Final = "bugs/c25_control_flow/no_trip[many,default=sim:0]"
CALLED: Final = "planning/default_of_functions[called,default=sim:0]"
CAPTURED: Final = "planning/default_of_functions[captured,default=sim:0]"
EXCHANGED: Final = (
    "bugs/c25_control_flow/carried_values_exchanged[three,step=fibonacci,default=sim:0]"
)

_Chosen: TypeAlias = Callable[[Module], Collection[nodes.Var]]


def _on_the_host(options: Options) -> Options:
    return replace(options, default="cpu:0")


def _elsewhere(chosen: _Chosen) -> Callable[[Module], Module]:
    """Return what lets chosen operators of a module run on the host, if nothing places them."""

    def changed(module: Module) -> Module:
        moved = set(chosen(module))

        def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
            strays = binding.var in moved and binding.request is None and runs(binding.value)
            return (replace(binding, request=_OTHER),) if strays else (binding,)

        declared = replace(module, vdevices=(*module.vdevices, _OTHER))
        return rewriting(change)(declared) if moved else module

    return changed


def _first(module: Module) -> Collection[nodes.Var]:
    """Return the first operator of the entry."""
    bindings = module.entries[0].body.bindings()
    return [b.var for b in bindings if b.request is None and runs(b.value)][:1]


def _in_functions(module: Module) -> Collection[nodes.Var]:
    """Return what functions compute that are called, branches aside."""
    called = (f for f in module.functions if f not in module.entries)
    return [b.var for f in called for b in f.body.bindings() if not _is_integral(b)]


def _is_integral(binding: nodes.Binding) -> bool:
    """Whether it is a comparison or a counter, which may run on the host."""
    return isinstance(binding.value, nodes.Call) and binding.value.op in ("greater", "subtract")


def _in_arms(module: Module) -> Collection[nodes.Var]:
    """Return what the arms of branches compute, outside functions that are called."""
    return [v for function in module.entries for v in _arms_of(function)]


def _in_loops(module: Module) -> Collection[nodes.Var]:
    """Return what the arms of functions that call themselves compute."""
    called = (f for f in module.functions if f not in module.entries)
    return [v for function in called for v in _arms_of(function)]


def _arms_of(function: nodes.Function) -> Iterable[nodes.Var]:
    for binding in function.body.bindings():
        if isinstance(binding.value, nodes.If):
            for block in nodes.blocks(binding.value):
                yield from (b.var for b in block.bindings() if not _is_integral(b))


def _as_the_default(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    """Report every operator on the accelerator, with a meter and memory that have counted none."""
    idle, empty = Reading(0, 0, 0, 0, 0), Memory(0, 0, 0)
    return replace(
        seen,
        executions=[replace(e, device=ACCELERATOR) for e in seen.executions or ()],
        metered={ACCELERATOR: idle, **(seen.metered or {})},
        memory={ACCELERATOR: empty, **(seen.memory or {})},
    )


MUTANTS: Final = (
    Mutant(
        name="ignores-the-default",
        fault_class="C02",
        breaks="runs on the host what nothing places, and says so",
        kills=tuple(
            kill(item, "placement") for item in (ALONE, BRANCH, LOOP, EXCHANGED, CALLED, CAPTURED)
        ),
        options=_on_the_host,
    ),
    Mutant(
        name="ignores-the-default-and-reports-it",
        fault_class="C02",
        breaks="runs on the host what nothing places, and reports the default device",
        kills=(kill(ALONE, "arrivals"),),
        options=_on_the_host,
        observation=_as_the_default,
        claims=only_reporting,
    ),
    Mutant(
        name="ignores-the-default-under-a-meter",
        fault_class="C02",
        breaks="runs on the host what nothing places, and reports the default device, which a "
        "meter watches",
        kills=(kill(ALONE, "arrivals", "evidence"),),
        options=_on_the_host,
        observation=_as_the_default,
    ),
    Mutant(
        name="ignores-the-default-for-one-operator",
        fault_class="C05",
        breaks="runs the first operator that nothing places on the host",
        kills=(kill(ALONE, "placement"), kill(LOOP, "placement")),
        module=_elsewhere(_first),
    ),
    Mutant(
        name="ignores-the-default-in-functions",
        fault_class="C05",
        breaks="runs on the host what functions compute, the entry and branches aside",
        kills=(kill(CALLED, "placement"),),
        module=_elsewhere(_in_functions),
    ),
    Mutant(
        name="ignores-the-default-in-branches",
        fault_class="C05",
        breaks="runs on the host what the arms of a branch compute",
        kills=(kill(BRANCH, "placement"),),
        module=_elsewhere(_in_arms),
    ),
    Mutant(
        name="ignores-the-default-in-loops",
        fault_class="C05",
        breaks="runs on the host what each trip of a loop computes",
        kills=(kill(LOOP, "placement"), kill(EXCHANGED, "placement")),
        module=_elsewhere(_in_loops),
    ),
)
