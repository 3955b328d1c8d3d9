"""One program in both executors, whose runs must be equal in all that can be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from reference_vm.diagnostics import DiagnosticError
from reference_vm.program.program import Program
from reference_vm.runtime.trace import Access, Trace
from reference_vm.session import Session

Record: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Seen:
    """What can be seen of a run."""

    ended: tuple[str, Any]
    """``result`` and the result to the bit, or ``error`` and the message."""

    trace: Sequence[Record]
    peaks: Mapping[str, int]
    left: Mapping[str, int]
    """Bytes that the run left in use."""

    ledgers: Mapping[str, object]


def seen(session: Session, entry: str, args: Sequence[Any]) -> Seen:
    """Run an entry, and return what can be seen of it."""
    before = {name: m.current for name, m in session.memory().items()}
    try:
        ended: tuple[str, Any] = "result", bits(session.run(entry, *args))
    except DiagnosticError as error:
        ended = "error", str(error)
    after = session.memory()
    return Seen(
        ended,
        renamed(session.trace),
        {name: m.peak for name, m in after.items()},
        {name: m.current - before[name] for name, m in after.items()},
        {
            name: (d.ledger.launches, dict(d.ledger.copies), dict(d.ledger.bytes))
            for name, d in session.devices.items()
        },
    )


def bits(value: Any) -> list[Any]:
    """Return what a result is made of, in order: equal to that of another one if all bits are."""
    found: list[Any] = []
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, np.ndarray):
            found.append((top.dtype.str, top.shape, top.tobytes()))
        elif isinstance(top, tuple):
            found.append(f"{len(top)} items")
            stack.extend(reversed(top))
        else:
            found.append(top)
    return found


def renamed(trace: Trace) -> list[Record]:
    """Return the records with buffers numbered as they come, and without times."""
    numbers: dict[int, int] = {}

    def access(one: Access) -> Record:
        return {**asdict(one), "buffer": numbers.setdefault(one.buffer, len(numbers))}

    def record(one: Any) -> Record:
        accesses = {"reads": one.reads, "writes": one.writes}
        return {
            **asdict(one),
            **{name: [access(a) for a in found] for name, found in accesses.items()},
            "truncated": trace.truncated,
        }

    return [record(one) for one in trace]


class Both:
    """Sessions of one program, one for each executor."""

    def __init__(self, program: Program, *, checked: bool = False, memory: str = "") -> None:
        self.native = Session(program, checked=checked, memory=memory)
        self.interpreted = Session(program, checked=checked, memory=memory, interpreter=True)
        assert not self.native.notes, "the native executor is what is tested"

    def differences(self, entry: str, *args: Any) -> Iterator[str]:
        """Run an entry in both; yield how the runs differ."""
        found, expected = (seen(s, entry, args) for s in (self.native, self.interpreted))
        for name in ("ended", "peaks", "left", "ledgers"):
            one, other = getattr(found, name), getattr(expected, name)
            if one != other:
                yield f"{name}: native {one}, interpreted {other}"
        yield from _trace_differences(found.trace, expected.trace)

    def check(self, entry: str, *args: Any) -> None:
        """Fail unless an entry runs alike in both, twice: with nothing remembered, and with all."""
        for turn in ("first", "second"):
            wrong = list(self.differences(entry, *args))
            assert not wrong, f"{turn} run:\n" + "\n".join(wrong)


def _trace_differences(found: Sequence[Record], expected: Sequence[Record]) -> Iterator[str]:
    if len(found) != len(expected):
        yield f"trace: native has {len(found)} records, interpreted {len(expected)}"
    for index, (one, other) in enumerate(zip(found, expected, strict=False)):
        if one != other:
            wrong = [key for key in one if one[key] != other[key]]
            shown = "; ".join(f"{k}: {one[k]} against {other[k]}" for k in wrong)
            yield f"trace, record {index}: {shown}"
            return
