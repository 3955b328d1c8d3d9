"""The number and bytes of all data moved: copies, and arguments brought to their device.

The same under the policies ``copy`` and ``replicate``, and the number that every implementation can
be held to, however it divides the work between planner and loader.
"""

from __future__ import annotations

from collections.abc import Iterator

from hettest.expect import transfers
from hettest.expect.situation import Situation
from hettest.outcome import Clause


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause, or none if nothing limits what is moved."""
    counts = situation.expect.moved
    copies = situation.observation.copies
    if copies is None:
        clause = transfers.unseen("moved", counts)
        if clause is not None:
            yield clause
        return
    number, size = transfers.limits(situation, counts, "moved")
    if not number and not size:
        return
    found = transfers.tally(copies, transfers.MOVED)
    line = counts.line if counts is not None else None
    yield transfers.clause(situation, "moved", found, number, size, line)
