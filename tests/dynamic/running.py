"""Run a random program in every way there is, and say where they differ.

The interpreter and the native executor must give the same bits and the same trace; both must give
what the program's writer found out, and pass the judge's local check; the memory checker must find
nothing in the bytecode, and no device may hold anything afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, final

import numpy as np

import reference_vm as rv
from hettest.judge.compare import compare
from reference_vm.oracle.estimate import Estimate
from reference_vm.oracle.evaluate import check_locally
from reference_vm.program.memory import memory_problems
from reference_vm.runtime.trace import Access, Record, Trace
from tests.dynamic.program import Array, Cell, Program

DEVICES: Final = "host=cpu:0,accel=sim:0"
LOOSE: Final = 1.0
"""How much of an operator's own bound its error may be."""

Found: TypeAlias = "tuple[Array, ...] | str"
"""The arrays of a result, or the code of the error."""


@final
@dataclass(frozen=True)
class Way:
    """One way to compile and run a program."""

    name: str
    options: Mapping[str, Any]
    default: str | None = None


WAYS: Final = (
    Way("as usual", {}),
    Way("on the accelerator", {}, "accel"),
    Way("plain", {"fuse": False, "plan_memory": False, "executor": "numpy"}),
)


def problems(program: Program, ways: Sequence[Way] = WAYS) -> Iterator[str]:
    """Yield what is wrong with the runs of a program; nothing if all is well."""
    module = rv.parse(program.text, f"seed {program.seed}")
    for way in ways:
        try:
            compiled = rv.compile(module, DEVICES, default=way.default, check=True, **way.options)
        except rv.CompileError as error:
            code = error.diagnostics[0].code
            if code != program.outcome.error:
                yield f"{way.name}: refused, {error}"
            continue
        if way.options.get("plan_memory", True):
            yield from (f"{way.name}: {problem}" for problem in memory_problems(compiled))
        yield from (f"{way.name}: {found}" for found in _wrong(program, module, compiled))


def _wrong(program: Program, module: Any, compiled: rv.Program) -> Iterator[str]:
    native, slow = rv.Session(compiled, checked=True), rv.Session(compiled, interpreter=True)
    one, other = _run(native, program), _run(slow, program)
    if not _same(one, other):
        yield f"native gives {_shown(one)}, the interpreter {_shown(other)}"
    for kind, session in (("native", native), ("the interpreter", slow)):
        held = {device: m.current for device, m in session.memory().items() if m.current}
        loaded = _constants(session)
        if any(held.get(d, 0) != loaded.get(d, 0) for d in {*held, *loaded}):
            yield f"{kind} leaves {held} bytes, {loaded} of them constants"
    if not isinstance(one, str):
        yield from _traced_apart(native.trace, slow.trace)
    yield from _misses(program, other)
    if not isinstance(other, str):
        yield from _locally(program, module, slow)


def _run(session: rv.Session, program: Program) -> Found:
    try:
        return tuple(_leaves(session.run("main", *program.args)))
    except rv.ExecutionError as error:
        return error.diagnostics[0].code


def _leaves(value: Any) -> Iterator[Array]:
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    elif not isinstance(value, str):
        yield value


def _constants(session: rv.Session) -> dict[str, int]:
    """Return the bytes on each device that loading took."""
    found: dict[str, int] = {}
    for record in session.load_trace:
        if record.kind == "alloc":
            for access in record.writes:
                found[access.device] = found.get(access.device, 0) + access.length
    return found


def _same(one: Found, other: Found) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one is other or one == other
    return len(one) == len(other) and all(map(_same_bits, one, other))


def _same_bits(one: Array, other: Array) -> bool:
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and one.tobytes() == other.tobytes()


def _traced_apart(one: Trace, other: Trace) -> Iterator[str]:
    """Yield the first record that differs; buffers are told apart by when they first appear."""
    left, right = _numbered(one), _numbered(other)
    if len(left) != len(right):
        yield f"the traces have {len(left)} and {len(right)} records"
    for place, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            yield f"record {place} of the traces is {a} and {b}"
            return


def _numbered(trace: Trace) -> list[Record]:
    numbers: dict[int, int] = {}

    def renamed(access: Access) -> Access:
        return replace(access, buffer=numbers.setdefault(access.buffer, len(numbers)))

    return [
        replace(r, reads=tuple(map(renamed, r.reads)), writes=tuple(map(renamed, r.writes)))
        for r in trace
    ]


def _misses(program: Program, found: Found) -> Iterator[str]:
    """Yield how the outcome differs from the one that the writer found out."""
    meant = program.outcome
    if isinstance(found, str) or meant.error is not None:
        if found != meant.error:
            yield f"ends in {_shown(found)}, expected {meant.error or _shown(meant.leaves)}"
        return
    if len(found) != len(meant.leaves):
        yield f"gives {len(found)} tensors, expected {len(meant.leaves)}"
        return
    for number, (array, wanted) in enumerate(zip(found, meant.leaves, strict=True)):
        if array.shape != wanted.shape or array.dtype != wanted.dtype:
            yield (
                f"tensor {number} is {array.dtype}{list(array.shape)}, "
                f"expected {wanted.dtype}{list(wanted.shape)}"
            )


def _locally(program: Program, module: Any, session: rv.Session) -> Iterator[str]:
    """Yield the operators whose results are beyond their own bound of error."""
    session.run("main", *program.args, keep=True)
    wrong: list[str] = []

    def visit(name: str, op: str, estimate: Estimate, seen: Any, span: Any) -> None:
        if seen.shape != estimate.value.shape:
            wrong.append(f"{name} = {op}: shape {seen.shape}, expected {estimate.value.shape}")
            return
        worst = compare(seen, estimate).worst
        if worst > LOOSE:
            wrong.append(f"{name} = {op}: {worst:.3g} times its bound")

    check_locally(module, "main", program.args, session.intermediates or {}, visit)
    yield from wrong


def _shown(found: Found) -> str:
    if isinstance(found, str):
        return found
    return ", ".join(f"{a.dtype}{list(a.shape)}" for a in found)


def failure(program: Program, found: Sequence[str]) -> str:
    """Return what to print of a program that failed: how to get it again, and its text."""
    args = "\n".join(f"  {np.array2string(a, threshold=40)}  # {a.dtype}" for a in program.args)
    listed = "\n".join(f"  {line}" for line in found[:8])
    again = f"python -m tests.dynamic --first={program.seed} --count=1"
    return f"seed {program.seed} (again: {again})\n{listed}\n{program.text}\narguments:\n{args}"


__all__ = ["WAYS", "Cell", "Way", "failure", "problems"]
