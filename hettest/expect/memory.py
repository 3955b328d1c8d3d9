"""A run gives back what it took: no device holds more after it than before.

Results are the caller's by then and do not count. What a program keeps loaded, such as constants,
is in use before the run already.
"""

from __future__ import annotations

from collections.abc import Iterator

from hettest.expect.situation import Situation
from hettest.outcome import Clause, Status


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause if the backend shows its memory."""
    memory = situation.observation.memory
    if not memory:
        return
    wrong = [
        f"{device}: {found.start} bytes in use before the run, {found.end} after it"
        for device, found in memory.items()
        if found.end > found.start
    ]
    if wrong:
        yield Clause("memory", Status.FAILED, "\n".join(wrong))
    else:
        detail = f"no more in use after the run than before, on {', '.join(memory)}"
        yield Clause("memory", Status.PROVEN, detail)
