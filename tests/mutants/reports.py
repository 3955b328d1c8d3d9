"""Mutants that do their work and lie about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hettest.backend.protocol import Copy, Memory, Observation
from hettest.case.walk import bindings, name_of
from hettest.language import Module
from tests.mutants.mutant import Mutant, kill
from tests.mutants.placement import all_on_host
from tests.mutants.transfers import DIAMOND, SHARED


def _as_requested(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    """Report each requested operator where it was requested."""
    wanted = {
        name_of(function, binding.var): device_map.get(binding.request.role, "cpu:0")
        for function in module.functions
        for binding in bindings(function)
        if binding.request is not None
    }
    executions = [
        replace(e, defines=(name,), device=wanted.get(name, e.device))
        for e in seen.executions or ()
        for name in e.defines
    ]
    memory = {device: Memory(0, 0, 0) for device in device_map.values()} | dict(seen.memory or {})
    return replace(seen, executions=executions, memory=memory)


def _all_on_host(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    return replace(seen, executions=[replace(e, device="cpu:0") for e in seen.executions or ()])


def _first_copy_hidden(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    copies = list(seen.copies or ())
    hidden = next((c for c in copies if c.cause == "read"), None)
    return replace(seen, copies=[c for c in copies if c is not hidden])


def _each(seen: Observation, **changes: object) -> Observation:
    return replace(seen, copies=[_changed(c, changes) for c in seen.copies or ()])


def _changed(copy: Copy, changes: Mapping[str, object]) -> Copy:
    return replace(copy, **changes)  # type: ignore[arg-type]


def _as_arguments(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    return _each(seen, cause="argument")


def _of_another(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    """Report every copy as one of the first parameter."""
    first = module.by_name["main"].params[0]
    return _each(seen, value=f"main/%{first.name}")


def _half(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    copies = [replace(c, bytes=(c.bytes or 0) // 2) for c in seen.copies or ()]
    return replace(seen, copies=copies)


def _without_bytes(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    return _each(seen, bytes=None)


def _silent(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    return replace(seen, executions=None)


MUTANTS: Final = (
    Mutant(
        name="falls-back-and-reports-the-request",
        fault_class="C02",
        breaks="runs everything on the host and reports the devices that were requested",
        kills=(
            kill(SHARED, "copies", "moved", "arrivals"),
            kill(DIAMOND, "copies", "moved", "arrivals"),
        ),
        device_map=all_on_host,
        observation=_as_requested,
    ),
    Mutant(
        name="reports-the-host",
        fault_class="C02",
        breaks="runs where it was asked to and reports the host for every operator",
        kills=(kill(SHARED, "placement"), kill(DIAMOND, "placement")),
        observation=_all_on_host,
    ),
    Mutant(
        name="hides-a-copy",
        breaks="makes every copy and leaves one out of its report",
        kills=(
            kill(SHARED, "copies", "moved", "arrivals"),
            kill(DIAMOND, "copies", "moved", "arrivals"),
        ),
        observation=_first_copy_hidden,
    ),
    Mutant(
        name="reports-another-value",
        breaks="reports every copy as one of the first argument",
        kills=(kill(SHARED, "arrivals"), kill(DIAMOND, "arrivals")),
        observation=_of_another,
    ),
    Mutant(
        name="reports-copies-as-arguments",
        breaks="gives every transfer the cause of an argument",
        kills=(kill(SHARED, "copies"), kill(DIAMOND, "copies")),
        observation=_as_arguments,
    ),
    Mutant(
        name="reports-half-the-bytes",
        breaks="reports half of the bytes that it moves",
        kills=(kill(SHARED, "moved"), kill(DIAMOND, "moved")),
        observation=_half,
    ),
    Mutant(
        name="reports-no-bytes",
        breaks="claims to report bytes and gives none",
        kills=(kill(SHARED, "backend"),),
        observation=_without_bytes,
    ),
    Mutant(
        name="reports-no-execution",
        breaks="claims to report where operators run and says nothing",
        kills=(kill(SHARED, "backend"),),
        observation=_silent,
    ),
)
