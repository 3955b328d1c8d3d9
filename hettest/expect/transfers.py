"""Counting transfers, for the expectations on copies and on moved data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

from hettest.backend.protocol import Copy
from hettest.case.counts import Transfers, transfers
from hettest.case.explicit import NotExplicit
from hettest.case.model import Counts, Limits
from hettest.expect.situation import Situation
from hettest.outcome import Clause, Status

COPIES = frozenset({"read", "host", "result", "explicit"})
"""The causes that count as copies."""

MOVED = COPIES | {"argument"}
"""The causes that count as moved data."""


@final
@dataclass(frozen=True)
class Tally:
    """What the backend showed of one kind of transfers."""

    number: int
    bytes: int | None
    """``None`` if some transfer's size is not shown."""


def tally(copies: Iterable[Copy], causes: frozenset[str]) -> Tally:
    """Count the transfers whose cause is among ``causes``; one without a cause counts too."""
    counted = [c for c in copies if c.cause is None or c.cause in causes]
    sizes = [c.bytes for c in counted]
    total = sum(s for s in sizes if s is not None)
    return Tally(sum(c.count for c in counted), None if None in sizes else total)


def limits(situation: Situation, counts: Counts | None, name: str) -> tuple[Limits, Limits]:
    """Return the limits on number and bytes: the case's own, or those of the definition.

    The case's numbers hold for its own bindings; for others, and where the case says nothing, a
    fully explicit program has exact numbers that follow from the definition.
    """
    if counts is not None and situation.numbers_hold:
        policy = situation.policy
        return counts.number.get(policy, Limits()), counts.bytes.get(policy, Limits())
    computed = defined(situation)
    if computed is None:
        return Limits(), Limits()
    if name == "copies":
        return Limits(computed.copies), Limits(computed.copied_bytes)
    return Limits(computed.moved), Limits(computed.moved_bytes)


def defined(situation: Situation) -> Transfers | None:
    """Return the transfers that follow from the definition; ``None`` if a planner has a say."""
    s = situation
    try:
        return transfers(s.module, s.entry, s.binding, s.default, s.policy, s.sizes)
    except NotExplicit:
        return None


def _differences(situation: Situation, name: str, number: Limits) -> Iterator[str]:
    """Yield a line for each variable of which too much or too little was transferred.

    None where the definition does not say the number that the limits say, or where the backend
    names values that the definition does not count, as it may do with aliases.
    """
    computed = defined(situation)
    if computed is None:
        return
    causes, column = (COPIES, 0) if name == "copies" else (MOVED, 1)
    expected = {value: counts[column] for value, counts in computed.by_value.items()}
    copies = [c for c in situation.observation.copies or () if c.cause is None or c.cause in causes]
    if not number.admits(sum(expected.values())) or any(c.value not in expected for c in copies):
        return
    found: Counter[str | None] = Counter()
    for copy in copies:
        found[copy.value] += copy.count
    for value, wanted in expected.items():
        if found[value] != wanted:
            yield f"{value}: found {found[value]}, expected {wanted}"


def clause(
    situation: Situation, name: str, found: Tally, number: Limits, size: Limits, line: int | None
) -> Clause:
    """Return whether what was counted is within the limits."""
    if not number.admits(found.number):
        detail = f"found {found.number}, expected {number}"
        detail += "".join(f"\n{more}" for more in _differences(situation, name, number))
        return Clause(name, Status.FAILED, detail, line)
    if not size:
        return Clause(name, Status.PROVEN, f"found {found.number}, expected {number}", line)
    if found.bytes is None:
        detail = "the backend does not show the bytes of its transfers"
        return Clause(name, Status.UNPROVEN, detail, line, "observe:bytes")
    detail = f"found {found.number} with {found.bytes} bytes, expected {number} with {size} bytes"
    if not size.admits(found.bytes):
        return Clause(name, Status.FAILED, detail, line)
    return Clause(name, Status.PROVEN, detail, line)


def unseen(name: str, counts: Counts | None) -> Clause | None:
    """Return the clause for a backend that shows no transfers; ``None`` if none was claimed."""
    if counts is None:
        return None
    detail = "the backend does not show its transfers"
    return Clause(name, Status.UNPROVEN, detail, counts.line, "observe:copies")


def listing(copies: Iterable[Copy]) -> str:
    """Return one line for each transfer."""
    lines = []
    for copy in copies:
        times = f" {copy.count} times" if copy.count != 1 else ""
        size = "" if copy.bytes is None else f", {copy.bytes} bytes"
        reader = f" for {copy.reader}" if copy.reader else ""
        cause = f" ({copy.cause}{reader})" if copy.cause else ""
        value = copy.value or ("the result" if copy.cause in ("result", "deliver") else "?")
        lines.append(f"  {value}: {copy.source} -> {copy.target}{times}{size}{cause}")
    return "\n".join(lines) or "  no transfers"
