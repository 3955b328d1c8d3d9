"""Which waivers are not true: expired, without an item, or of items that pass by now."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from hettest.outcome import Outcome, Record
from hettest.waivers.model import Waiver, Waivers, stages

_ENDED = (Outcome.FAILED, Outcome.CRASHED, Outcome.WAIVED)


def problems(
    waivers: Waivers, records: Sequence[Record], cases: Collection[str], today: datetime.date
) -> Iterator[str]:
    """Yield what is wrong with each waiver, after the place where it stands.

    Args:
        waivers: Those in force for the run.
        records: How its items ended, waived ones included.
        cases: The ids of all cases that there are; a waiver for one that was not run is well.
        today: The day on which the run was.
    """
    for waiver in waivers.entries:
        wrong = _wrong(waiver, records, cases, today)
        if wrong is not None:
            yield f"{waiver.place}: the waiver of {waiver.stage} for {waiver.case} {wrong}"


def _wrong(
    waiver: Waiver, records: Sequence[Record], cases: Collection[str], today: datetime.date
) -> str | None:
    if waiver.has_expired(today):
        return f"expired on {waiver.expires}: mend it, or give it a new date with its reason"
    covered = [record for record in records if waiver.covers(record)]
    if not covered:
        known = any(map(waiver.names, cases))
        return None if known else "matches no case: take it out, or mend its pattern"
    if any(waiver.stage in stages(r) for r in covered if r.outcome in _ENDED):
        return None
    if any(r.outcome is Outcome.NOT_RUN for r in covered):
        return None  # it may be needed where they are run
    counts = Counter(_end(r) for r in covered)
    told = ", ".join(f"{number} {end}" for end, number in counts.items())
    if any(r.outcome is Outcome.PASSED for r in covered):
        return f"is not needed any more: take it out ({told})"
    return f"matches no failure: {told}"


def _end(record: Record) -> str:
    failed = ", ".join(stages(record)) if record.outcome in _ENDED else ""
    return f"{record.outcome} at {failed}" if failed else str(record.outcome)
