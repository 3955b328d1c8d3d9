"""Mutants whose report is of one piece, and wrong: what else is known contradicts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from hettest.backend.protocol import Memory, Observation, Options, Reading
from hettest.language import Module, TensorType, Type, numpy_dtype
from hettest.runner import ModuleProgram
from reference_vm.conformance import Backend as Reference
from tests.mutants.instructions import changing
from tests.mutants.mutant import Mutant, kill
from tests.mutants.placement import all_on_host, to_host
from tests.mutants.transfers import COMES_AND_GOES, DIAMOND, SHARED, copied_twice


def _honest(module: Module, device_map: Mapping[str, str]) -> Observation:
    """Return what an honest run shows, of ones in place of the arguments."""
    program = ModuleProgram("honest", module)
    executable = Reference().compile(program, device_map, Options(default="cpu:0"))
    return executable.run("main", [_ones(param.type) for param in module.by_name["main"].params])


def _ones(type_: Type | None) -> Any:
    assert isinstance(type_, TensorType)
    assert type_.shape is not None
    return np.ones([int(str(dim)) for dim in type_.shape], numpy_dtype(type_.dtype.name))


def _as_if_honest(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    """Report what an honest run would; the meter and the memory stay as they are."""
    honest = _honest(module, device_map)
    idle = dict.fromkeys(device_map.values(), Reading(0, 0, 0, 0, 0))
    empty = dict.fromkeys(device_map.values(), Memory(0, 0, 0))
    return replace(
        seen,
        executions=honest.executions,
        copies=honest.copies,
        metered={**idle, **(seen.metered or {})},
        memory={**empty, **(seen.memory or {})},
    )


def _in_all_as_if_honest(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    """Report and meter what an honest run would."""
    claimed = _as_if_honest(module, device_map, seen)
    return replace(claimed, metered=_honest(module, device_map).metered)


def _each_copy_once(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    return replace(seen, copies=tuple(dict.fromkeys(seen.copies or ())))


def _arrays_on_the_host(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    made = (name for execution in seen.executions or () for name in execution.defines)
    return replace(seen, spaces=dict.fromkeys(made, "cpu:0"))


def _also_spaces(claims: frozenset[str]) -> frozenset[str]:
    return claims | {"observe:spaces"}


MUTANTS: Final = (
    Mutant(
        name="falls-back-and-reports-an-honest-run",
        fault_class="C02",
        breaks="runs everything on the host and reports the operators and transfers that an honest "
        "run would make",
        kills=(kill(SHARED, "evidence"), kill(DIAMOND, "evidence")),
        device_map=all_on_host,
        observation=_as_if_honest,
    ),
    Mutant(
        name="falls-back-and-forges-the-meter",
        fault_class="C02",
        breaks="runs everything on the host, and its report and its meter are those of an honest "
        "run",
        kills=(kill(SHARED, "evidence"),),
        device_map=all_on_host,
        observation=_in_all_as_if_honest,
    ),
    Mutant(
        name="moves-one-operator-and-reports-an-honest-run",
        fault_class="C05",
        breaks="runs one operator on the host and reports an honest run",
        kills=(kill(SHARED, "evidence"), kill(DIAMOND, "evidence")),
        module=to_host,
        observation=_as_if_honest,
    ),
    Mutant(
        name="copies-twice-and-reports-once",
        fault_class="C04",
        breaks="makes every copy twice and reports each once",
        kills=(kill(SHARED, "evidence"), kill(COMES_AND_GOES, "evidence")),
        loading=(changing(copied_twice),),
        observation=_each_copy_once,
    ),
    Mutant(
        name="shows-arrays-on-the-host",
        fault_class="C02",
        breaks="reports operators on the accelerator whose arrays lie in memory of the host",
        kills=(kill(SHARED, "evidence"), kill(DIAMOND, "evidence")),
        observation=_arrays_on_the_host,
        claims=_also_spaces,
    ),
)
