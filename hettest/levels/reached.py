"""Whether a run reached a profile's levels, and if not, what stands in the way.

Level k is reached if every word of the profile at levels up to k is declared, and every item of it
at those levels passed or is unsupported for a word that the profile does not ask for. Items that
are waived, undecided, unproven or not run did not pass; nor is a level reached of which no item
passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from hettest.capability import missing
from hettest.levels.plan import Planned
from hettest.levels.profile import Profile, due
from hettest.levels.reading import WORDS, blocker_of, explained
from hettest.levels.standing import Blocker, Reach, Rung, Standing
from hettest.outcome import Outcome, Record, Status, weakest
from hettest.ran import ran_on, reached_on

PLACED_FROM = 3
"""The level from which it takes two devices, and from which the weakest evidence is told."""

_GRADED = {"placement": "placement", "copies": "copies", "moved": "copies", "arrivals": "copies"}


@final
@dataclass(frozen=True)
class Run:
    """What a level is judged from."""

    records: Mapping[str, Record]
    """By item id."""

    claims: Collection[str]
    """The capability words that the backend declares."""

    devices: Sequence[str]
    unopened: str = ""
    """Why the backend did not open, so that its words are not known; empty if it did."""


def standing(profile: Profile, plan: Sequence[Planned], run: Run) -> Standing:
    """Return how ``run`` stands in ``profile``, whose items on the run's devices are ``plan``."""
    rungs: list[Rung] = []
    below: Rung | None = None
    words: list[tuple[str, ...]] = []
    for part in plan:
        step = part.step
        asked = due(step.words, run.devices)
        if step.group is None:
            words += asked
            below = _rung(part, words, run, below)
            rungs.append(below)
        else:
            rungs.append(_rung(part, asked, run, None))
    return Standing(profile.name, profile.digest, tuple(rungs), _evidence(plan, run))


def _rung(part: Planned, words: Sequence[tuple[str, ...]], run: Run, below: Rung | None) -> Rung:
    found = [run.records[item.id] for item in part.items if item.id in run.records]
    asked = {choice[0] for choice in words if len(choice) == 1}
    blocking = [r for r in found if not _passed(r) and not _excused(r, asked)]
    undeclared = () if run.unopened else tuple(_undeclared(words, run.claims))
    blocker = _worst(blocking)
    reach, reason = _reach(part, len(found), undeclared, blocker, len(blocking), found, below)
    if run.unopened:
        reach, reason = Reach.BLOCKED, f"the backend did not open: {run.unopened.splitlines()[0]}"
    return Rung(
        level=part.step.level,
        group=part.step.group,
        reach=reach,
        items=len(part.items),
        selected=len(found),
        passed=sum(map(_passed, found)),
        excused=sum(_excused(record, asked) for record in found),
        undeclared=undeclared,
        blocking=len(blocking),
        blocker=blocker,
        reason=reason,
        devices=_devices(part.step.level, found, run.devices),
    )


def _devices(level: int, found: Sequence[Record], named: Sequence[str]) -> tuple[str, ...]:
    """Return on which of the named devices items of a level that passed were seen.

    L0 is about what is accepted for a device; L1 about values that come there and go; from L2 on
    something must have been computed there.
    """
    where = {0: lambda record: record.devices, 1: reached_on}.get(level, ran_on)
    seen = {device for record in found if _passed(record) for device in where(record)}
    return tuple(device for device in named if device in seen)


def _reach(
    part: Planned,
    selected: int,
    undeclared: Sequence[str],
    blocker: Blocker | None,
    blocking: int,
    found: Sequence[Record],
    below: Rung | None,
) -> tuple[Reach, str]:
    name, items = part.step.name, len(part.items)
    if undeclared:
        listed = ", ".join(undeclared)
        return Reach.BLOCKED, f"not declared: {listed}; see {explained(WORDS)}"
    if blocker is not None:
        return Reach.BLOCKED, _told(blocker, blocking)
    if below is not None and below.reach is not Reach.REACHED:
        return below.reach, f"{below.name} is {below.reach}"
    if part.beyond and part.step.level >= PLACED_FROM:
        need = (
            f"1 case of {name} needs" if part.beyond == 1 else f"{part.beyond} cases of {name} need"
        )
        return Reach.NOT_JUDGED, f"{need} more devices than were named"
    if part.absent:
        return Reach.NOT_JUDGED, f"this installation lacks {part.absent[0]}, an item of the profile"
    if selected < items:
        part_of = f"only {selected}" if selected else "none"
        return Reach.NOT_JUDGED, f"{part_of} of {items} items of {name} were selected"
    if items and not any(map(_passed, found)):
        return Reach.BLOCKED, f"no item of {name} passed; all {items} need words not declared"
    return Reach.REACHED, ""


def _told(blocker: Blocker, count: int) -> str:
    others = f" ({count} such items, this is the first)" if count > 1 else ""
    why = f": {blocker.reason}" if blocker.reason else ""
    see = explained(blocker.clause or blocker.page)
    return f"{blocker.item} {blocker.outcome}{why}{others}; see {see}"


def _passed(record: Record) -> bool:
    """Whether the item passed, and no numeric check of it was left undecided."""
    open_ = (m for c in record.clauses for m in c.measures if m.status == "undecided")
    return record.outcome is Outcome.PASSED and not any(open_)


def _excused(record: Record, asked: Collection[str]) -> bool:
    """Whether the item is unsupported for a capability word that the profile does not ask for."""
    if record.outcome is not Outcome.UNSUPPORTED:
        return False
    lacks = (word.partition(" ")[0] for word in record.lacks)
    return any(":" in word and missing([word], asked) for word in lacks)


def _undeclared(words: Iterable[tuple[str, ...]], claims: Collection[str]) -> Iterator[str]:
    """Yield each word, or choice of words, of which none is declared."""
    for choice in dict.fromkeys(words):
        if len(missing(choice, claims)) == len(choice):
            yield " or ".join(choice)


def _worst(records: Sequence[Record]) -> Blocker | None:
    """Return the first item that failed or crashed, else the first."""
    bad = (Outcome.FAILED, Outcome.CRASHED)
    first = next((r for r in records if r.outcome in bad), next(iter(records), None))
    return None if first is None else blocker_of(first)


def _evidence(plan: Sequence[Planned], run: Run) -> dict[str, str]:
    """Return the weakest grade of each kind of clause, of the items that passed."""
    ids = [i.id for part in plan if part.step.level >= PLACED_FROM for i in part.items]
    records = [run.records[i] for i in ids if i in run.records and _passed(run.records[i])]
    grades: dict[str, str] = {}
    for kind in dict.fromkeys(_GRADED.values()):
        worst = weakest(
            clause.evidence
            for record in records
            for clause in record.clauses
            if clause.evidence is not None
            and clause.status is Status.PROVEN
            and _GRADED.get(clause.name) == kind
        )
        if worst is not None:
            grades[kind] = worst.value
    return grades
