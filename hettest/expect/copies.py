"""The number and bytes of device copies: all transfers but those of arguments and constants."""

from __future__ import annotations

from collections.abc import Iterator

from hettest.expect import transfers
from hettest.expect.situation import Situation
from hettest.outcome import Clause, Status


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause, or none if nothing limits the copies."""
    counts = situation.expect.copies
    copies = situation.observation.copies
    if copies is None:
        clause = transfers.unseen("copies", counts)
        if clause is not None:
            yield clause
        return
    number, size = transfers.limits(situation, counts, "copies")
    if not number and not size:
        return
    line = counts.line if counts is not None else None
    if any(copy.cause is None for copy in copies):
        detail = "the backend does not tell copies from transfers of arguments"
        yield Clause("copies", Status.UNPROVEN, detail, line, "observe:copies")
        return
    found = transfers.tally(copies, transfers.COPIES)
    yield transfers.clause(situation, "copies", found, number, size, line)
