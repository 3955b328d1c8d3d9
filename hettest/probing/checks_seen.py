"""Checks of what a backend shows beside results: what it claims, and consistent in itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hettest.backend.calls import compiled
from hettest.backend.guard import crashes
from hettest.backend.protocol import Observation, Options, Rejected
from hettest.capability import missing
from hettest.expect import arrivals
from hettest.expect.claims import unkept
from hettest.expect.flow import Need
from hettest.expect.situation import HOST
from hettest.language import operators
from hettest.probing.examples import Example, malformed, one_operator, two_devices
from hettest.probing.finding import Failed, NotApplicable, NotRun
from hettest.probing.specimen import Specimen
from hettest.runner.program import TextProgram

STAGES = ("parse", "verify", "compile", "run")


def observations(specimen: Specimen) -> str:
    """Check that what is claimed is shown, and nothing else."""
    example = one_operator(specimen.dtype, specimen.operator)
    for device in specimen.usable:
        wrong = list(unkept(specimen.first_run(example, device), specimen.claims))
        if wrong:
            raise Failed("\n".join(wrong))
    words = sorted(c for c in specimen.claims if c.startswith("observe:"))
    return f"as claimed: {', '.join(words) or 'nothing'}"


def placement(specimen: Specimen) -> str:
    """Check that what is shown of a run on two devices fits the program."""
    shown = [
        w for w in ("observe:placement", "observe:copies") if not missing([w], specimen.claims)
    ]
    if not shown:
        raise NotApplicable("neither observe:placement nor observe:copies is claimed")
    usable = specimen.usable
    if len(usable) < 2 and specimen.missing:
        raise NotRun(specimen.absence)
    if len(usable) < 2:
        raise NotApplicable(f"{usable[0]} is the only device; two show where work ran")
    example, pair = two_devices(specimen.dtype, specimen.operator), usable[:2]
    seen = specimen.first_run(example, pair)
    binding = dict(zip(example.roles, pair, strict=True))
    wrong = [*_wrong_executions(example, seen, binding), *_wrong_copies(example, seen, binding)]
    if wrong:
        raise Failed("\n".join([f"{example.name}, {binding}:", *wrong, example.text.rstrip()]))
    return f"{example.name}: {' and '.join(pair)}"


def _wrong_executions(
    example: Example, seen: Observation, binding: Mapping[str, str]
) -> Iterator[str]:
    if seen.executions is None:
        return
    made: dict[str, str] = {}
    for execution in seen.executions:
        if execution.op not in operators() and len(execution.defines) < 2:  # no fused ones
            yield f"an execution is of {execution.op!r}, expected an operator of the language"
        for name in execution.defines:
            made[name] = execution.device
    unknown = sorted(set(made) - set(example.computed))
    if unknown:
        called = " and ".join(example.computed)
        yield f"executions define {', '.join(unknown)}; variables are called {called}"
    for name, role in example.computed.items():
        if made.get(name) != binding[role]:
            yield f"{name} ran on {made.get(name, 'no device')}, requested is {binding[role]}"


def _wrong_copies(example: Example, seen: Observation, binding: Mapping[str, str]) -> Iterator[str]:
    if seen.copies is None:
        return
    first, second = binding.values()
    for copy in seen.copies:
        for device in (copy.source, copy.target):
            if device not in (first, second, HOST):
                yield f"a transfer is from or to {device!r}, which is no device of the program"
    yield from map(arrivals.missing, arrivals.unmet(_needs(example, binding), seen.copies))
    size = example.arrays()[0].nbytes
    wrong = [c.bytes for c in seen.copies if c.bytes is not None and c.bytes != size]
    if wrong:
        yield f"a transfer is said to be of {wrong[0]} bytes; each value has {size}"


def _needs(example: Example, binding: Mapping[str, str]) -> list[Need]:
    """Return each value that a device reads without having made it, once for each device."""
    where = {name: binding[role] for name, role in example.computed.items()}
    found: dict[tuple[str, str], Need] = {}
    for name, reader in example.reads:
        made, device = where.get(name, HOST), where[reader]
        if made != device:
            need = Need(frozenset({name}), name, device, frozenset({made}), reader, name)
            found.setdefault((name, device), need)
    return list(found.values())


def refusals(specimen: Specimen) -> str:
    """Check that malformed programs are refused, with line and code if those are claimed."""
    if not specimen.reads("hir"):
        raise NotApplicable("it reads no text, so it is given well-formed programs only")
    for what, text, line, code in malformed(specimen.dtype):
        refused = _refusal(specimen, what, text)
        wrong = list(_wrong_refusal(specimen, refused, line, code))
        if wrong:
            raise Failed("\n".join([f"{what}:", *wrong, text.rstrip()]))
    return "malformed programs are refused"


def _refusal(specimen: Specimen, what: str, text: str) -> Rejected:
    program = TextProgram(f"example with {what}", text)
    try:
        compiled(specimen.backend, program, {}, Options(default=specimen.usable[0]))
    except Rejected as refused:
        return refused
    raise Failed(f"a program with {what} is accepted; raise Rejected\n{text.rstrip()}")


def _wrong_refusal(specimen: Specimen, refused: Rejected, line: int, code: str) -> Iterator[str]:
    if refused.stage not in STAGES[:3]:
        yield f"refused at {refused.stage!r}, expected parse, verify or compile"
    if not missing(["diagnostics:line"], specimen.claims) and refused.line != line:
        yield f"refused at line {_shown(refused.line)}, expected {line}"
    if not missing(["diagnostics:codes"], specimen.claims) and refused.code != code:
        yield f"refused with code {_shown(refused.code)}, expected {code}"


def _shown(value: Any) -> str:
    return "none" if value is None else repr(value)


def closes(specimen: Specimen) -> str:
    """Check that the backend can be closed, twice."""
    with crashes("close()"):
        specimen.backend.close()
    with crashes("a second close()"):
        specimen.backend.close()
    return "twice"
