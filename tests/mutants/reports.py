"""Mutants that do their work and lie about it, known by their report alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hettest.backend.protocol import Copy, Memory, Observation
from hettest.case.walk import bindings, name_of
from hettest.language import Module
from tests.mutants.mutant import Mutant, kill, only_reporting
from tests.mutants.placement import all_on_host
from tests.mutants.transfers import DIAMOND, SHARED

if TYPE_CHECKING:
    from hettest.backend.protocol import Array, Value

NESTED: Final = "placement/tuple_nested[plain,host=cpu:0,accel=sim:0,policy=copy]"
ROUND_TRIP: Final = (
    "memory/there_and_back"
    "[edges,by=identity,dtype=f32,shape=7x13,host=cpu:0,accel=sim:0,policy=copy]"
)
UNDER_POLICIES: Final = (
    "placement/copies_of_every_dtype[edges,of=f32,host=cpu:0,accel=sim:0,policy=copy]"
)
SCALAR: Final = "ops/sum/integers[wraps,default=cpu:0]"


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


def _first_execution_hidden(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    return replace(seen, executions=list(seen.executions or ())[1:])


def _nothing_ran(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    return replace(seen, executions=())


def _no_memory(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    return replace(seen, memory={})


def _host_memory(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    return replace(seen, memory={"cpu:0": (seen.memory or {})["cpu:0"]})


def _no_intermediates(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    return replace(seen, intermediates={})


def _from_the_target(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    return replace(seen, copies=[replace(c, source=c.target) for c in seen.copies or ()])


def _from_another(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    """Report each copy as one from a device that is not in the program."""
    return _each(seen, source="sim:7")


def _fewer_than_none(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    """Report one more copy, and take it away again."""
    extra = Copy("cpu:0", "sim:0", None, 16, "constant")
    return replace(seen, copies=[*(seen.copies or ()), extra, replace(extra, count=-1)])


def _flat(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    return replace(seen, results=tuple(_arrays(seen.results)))


def _arrays(value: Value) -> Iterator[Array]:
    if isinstance(value, tuple):
        for item in value:
            yield from _arrays(item)
    elif not isinstance(value, str):
        yield value


def _wrapped(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    return replace(seen, results=(seen.results,))


def _scalars(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    results: Any = seen.results
    return replace(seen, results=results[()] if results.ndim == 0 else results)


def _unsigned_zeros(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    """Return what came of the run with every zero positive."""
    return replace(seen, results=_without_signs(seen.results))


def _without_signs(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(map(_without_signs, value))
    if isinstance(value, str) or value.dtype.kind in "biu":
        return value
    return np.where(value == 0, np.zeros_like(value), value)


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
        claims=only_reporting,
    ),
    Mutant(
        name="reports-the-host",
        fault_class="C02",
        breaks="runs where it was asked to and reports the host for every operator",
        kills=(
            kill(SHARED, "placement", "arrivals"),
            kill(DIAMOND, "placement", "arrivals"),
        ),
        observation=_all_on_host,
        claims=only_reporting,
    ),
    Mutant(
        name="hides-an-execution",
        breaks="leaves out of its report the first operator that ran",
        kills=(kill(SHARED, "placement"), kill(DIAMOND, "placement")),
        observation=_first_execution_hidden,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-an-empty-list-of-executions",
        breaks="claims to report where operators run and says that none did",
        kills=(kill(SHARED, "backend", "placement"), kill(DIAMOND, "backend", "placement")),
        observation=_nothing_ran,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-no-memory",
        breaks="claims to report memory and names no device",
        kills=(kill(SHARED, "backend"),),
        observation=_no_memory,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-the-memory-of-the-host",
        breaks="reports memory of the host alone",
        kills=(kill(SHARED, "backend"),),
        observation=_host_memory,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-no-intermediates",
        breaks="claims to show what it computed and shows nothing",
        kills=(kill(SHARED, "backend"),),
        observation=_no_intermediates,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-copies-onto-themselves",
        fault_class="C07",
        breaks="reports every copy as one from the device that it goes to",
        kills=(kill(SHARED, "arrivals"), kill(DIAMOND, "arrivals")),
        observation=_from_the_target,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-copies-from-elsewhere",
        breaks="reports every copy as one from a device that never had the value",
        kills=(kill(SHARED, "arrivals"), kill(DIAMOND, "arrivals")),
        observation=_from_another,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-fewer-copies-than-none",
        breaks="reports a copy that it did not make, and then minus one of it",
        kills=(kill(SHARED, "backend"),),
        observation=_fewer_than_none,
        claims=only_reporting,
    ),
    Mutant(
        name="flattens-results",
        breaks="returns nested tuples as one flat tuple",
        kills=(kill(NESTED, "values"),),
        observation=_flat,
        claims=only_reporting,
    ),
    Mutant(
        name="wraps-results",
        breaks="returns the result in a tuple of its own",
        kills=(kill(SHARED, "values"), kill(NESTED, "values")),
        observation=_wrapped,
        claims=only_reporting,
    ),
    Mutant(
        name="returns-scalars",
        breaks="returns a NumPy scalar in place of an array without axes",
        kills=(kill(SCALAR, "values"),),
        observation=_scalars,
        claims=only_reporting,
    ),
    Mutant(
        name="loses-the-sign-of-zero",
        breaks="returns every zero without its sign",
        kills=(kill(ROUND_TRIP, "values"), kill(UNDER_POLICIES, "values")),
        observation=_unsigned_zeros,
        claims=only_reporting,
    ),
    Mutant(
        name="hides-a-copy",
        breaks="makes every copy and leaves one out of its report",
        kills=(
            kill(SHARED, "copies", "moved", "arrivals"),
            kill(DIAMOND, "copies", "moved", "arrivals"),
        ),
        observation=_first_copy_hidden,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-another-value",
        breaks="reports every copy as one of the first argument",
        kills=(kill(SHARED, "arrivals"), kill(DIAMOND, "arrivals")),
        observation=_of_another,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-copies-as-arguments",
        breaks="gives every transfer the cause of an argument",
        kills=(kill(SHARED, "copies"), kill(DIAMOND, "copies")),
        observation=_as_arguments,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-half-the-bytes",
        breaks="reports half of the bytes that it moves",
        kills=(kill(SHARED, "moved"), kill(DIAMOND, "moved")),
        observation=_half,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-no-bytes",
        breaks="claims to report bytes and gives none",
        kills=(kill(SHARED, "backend"),),
        observation=_without_bytes,
        claims=only_reporting,
    ),
    Mutant(
        name="reports-no-execution",
        breaks="claims to report where operators run and says nothing",
        kills=(kill(SHARED, "backend"),),
        observation=_silent,
        claims=only_reporting,
    ),
)
