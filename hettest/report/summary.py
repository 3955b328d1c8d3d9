"""What the first page of a report for people says, in order: text and Markdown show the same.

Which level for which profile; which devices really ran; how many items ended how; what is waived
and until when; what changed; what is unproven, undecided or vacuous and which bounds were loosened,
with the reasons; what is advisory; what was left out; how the items compare with the committed
list; what is not covered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from hettest.outcome import Clause, Outcome, Record, Status
from hettest.ran import reached_on
from hettest.report.content import ReportContent
from hettest.report.counting import counted
from hettest.report.legend import legend

if TYPE_CHECKING:  # a run of one's own tests, which has no levels, does not wait for them
    from hettest.levels.coverage import Part
    from hettest.levels.standing import Rung, Standing
    from hettest.report.changes import Change

MANY: Final = 8
"""How many of a kind are named one by one."""

_LOOSENED: Final = re.compile(r"within (\S+) ulp, since .*")
_WORDED: Final = frozenset(
    {
        *("levels", "unproven", "undecided", "bounds vacuous", "bounds loosened"),
        "advisory, not counted",
    }
)
"""Sections with words of the judge's, which need a legend."""

_EXACT: Final = 0.5
"""Units in the last place within which the only right value is the rounded one."""


@final
@dataclass(frozen=True, slots=True)
class Section:
    """One question and its answer."""

    title: str
    lines: tuple[str, ...]


def sections(content: ReportContent, former: ReportContent | None = None) -> Iterator[Section]:
    """Yield the sections that have something to say.

    Args:
        content: The run.
        former: An earlier run to compare with.
    """
    shown: list[str] = []
    for title, lines in (
        ("no evidence of conformance", filter(None, [content.partial])),
        ("levels", levels(content)),
        ("judged in the backend's own process", _in_process(content)),
        ("ran on", _devices(content)),
        ("items", _counts(content)),
        ("problems", content.problems),
        ("required", content.unmet),
        ("better than the lock", _better(content)),
        ("waivers", _waivers(content.records)),
        ("since the former report", _since(content, former)),
        ("unproven", _unproven(content.records)),
        ("undecided", _measured(content.records, "undecided")),
        ("bounds vacuous", _measured(content.records, "vacuous")),
        ("bounds loosened", _loosened(content.records)),
        ("advisory, not counted", _advisories(content.records)),
        ("deselected", (f"{count} {reason}" for reason, count in content.deselected.items())),
        ("expected", _expected(content)),
        ("covered", _covered(content)),
    ):
        found = tuple(lines)
        if found:
            if title in _WORDED:
                shown += (title, *found)
            yield Section(title, found)
    words = tuple(legend(shown))
    if words:
        yield Section("words", words)


def levels(content: ReportContent) -> Iterator[str]:
    """Yield which level was reached for which profile, and what stands in the way of the next."""
    about = [s for s in content.standings if any(rung.selected for rung in s.rungs)]
    for standing in about or content.standings:
        yield from _standing(standing, content.devices)


def _in_process(content: ReportContent) -> Iterator[str]:
    """Yield how many items rest on the backend's honesty, since it could reach the judge."""
    if content.in_process:
        yield f"{counted(content.in_process, 'item')}; shows faults, and is no evidence for others"


def _standing(standing: Standing, devices: Sequence[str]) -> Iterator[str]:
    from hettest.levels.standing import Reach

    reached = [f"L{standing.level}"] if standing.level is not None else []
    reached += [rung.name for rung in standing.groups]
    beyond = [rung for rung in standing.next if rung.group is None or rung.selected]
    if not reached and all(rung.reach is Reach.NOT_JUDGED for rung in beyond):
        yield f"{standing.profile}: not judged: {standing.rungs[0].reason}"
        return
    graded = ", ".join(f"{kind} {grade}" for kind, grade in standing.evidence.items())
    shown = f"{', '.join(reached)} reached" if reached else "no level reached"
    known = [graded, *map(_share, standing.reached)]
    yield "; ".join(filter(None, (f"{standing.profile}: {shown}{_where(standing)}", *known)))
    yield from _unseen(standing, devices)
    for rung in beyond:
        told = f"{standing.profile}: {rung.name} is {_state(rung)}: {rung.reason}"
        yield "; ".join(filter(None, (told, _share(rung))))


def _where(standing: Standing) -> str:
    """Return on which devices what is reached was seen to run, each once."""
    found = dict.fromkeys(device for rung in standing.reached for device in rung.devices)
    return f" on {', '.join(found)}" if found else ""


def _unseen(standing: Standing, devices: Sequence[str]) -> Iterator[str]:
    """Yield for which named devices a reached step says nothing, since nothing was seen there."""
    for rung in standing.reached:
        unseen = [device for device in devices if device not in rung.devices]
        if unseen and rung.items:
            told = f"is not shown on {', '.join(unseen)}, where nothing was seen to run"
            yield f"{standing.profile}: {rung.name} {told}"


def _share(rung: Rung) -> str:
    """Return on how many items a step rests; empty if they were not all judged."""
    from hettest.levels.standing import Reach

    if rung.reach is Reach.NOT_JUDGED or not rung.items:
        return ""
    excused = f", {rung.excused} excused (not declared)" if rung.excused else ""
    blocking = f", {rung.blocking} neither" if rung.blocking else ""
    return f"{rung.name}: {rung.passed} of {counted(rung.items, 'item')} passed{excused}{blocking}"


def _state(rung: Rung) -> str:
    from hettest.levels.standing import Reach

    return "not reached" if rung.reach is Reach.BLOCKED else str(rung.reach)


def _devices(content: ReportContent) -> Iterator[str]:
    """Yield on which devices conformance items really ran, and on which none did."""
    cases = [record for record in content.records if record.case is not None]
    if not cases:
        return
    if content.unopened:
        why = content.unopened.splitlines()[0]
        yield f"no device; nothing ran: the backend did not open: {why}"
        return
    counts = Counter(d for r in cases for d in reached_on(r))
    ran = [
        f"{device} ({counted(counts[device], 'item')})"
        for device in content.devices
        if counts[device]
    ]
    yield ", ".join(ran) or "no device"
    for device in content.devices:
        if not counts[device]:
            yield _idle(device, [record for record in cases if device in record.devices])


def _idle(device: str, records: Sequence[Record]) -> str:
    """Return why nothing was seen of a device, as far as its items say."""
    if any(r.outcome is Outcome.PASSED and not reached_on(r) for r in records):
        return f"nothing was seen to run on {device}: it is not shown where items ran that passed"
    reason = next((r.reason for r in records if r.reason and not reached_on(r)), "")
    return f"nothing ran on {device}" + (reason and f": {reason}")


def _counts(content: ReportContent) -> Iterator[str]:
    counts = ", ".join(f"{content.counts[o]} {o}" for o in Outcome)
    skipped = sum(not record.counted for record in content.records)
    apart = f"; {skipped} skipped and not counted" if skipped else ""
    yield f"{counted(len(content.records), 'item')}: {counts}{apart}"


def _waivers(records: Iterable[Record]) -> Iterator[str]:
    used: dict[str, list[Record]] = {}
    for record in records:
        if record.waiver:
            used.setdefault(record.waiver, []).append(record)
    yield from (f"{_items(same)}: {text}" for text, same in used.items())


def _better(content: ReportContent) -> Iterator[str]:
    yield from content.better
    if content.better:
        yield "run with --het-update-lock (hettest run --update-lock) to hold them to it"


def _since(content: ReportContent, former: ReportContent | None) -> Iterator[str]:
    if former is None:
        return
    from hettest.report.changes import changes

    found = changes(former, content)
    if not found:
        yield "nothing changed"
    by_kind: dict[str, list[Change]] = {}
    for change in found:
        kind = f"{change.before or 'absent'} -> {change.after or 'absent'}"
        by_kind.setdefault(kind if change.about == "item" else change.name, []).append(change)
    for kind, same in by_kind.items():
        if len(same) > MANY:
            mark = " (worse)" if same[0].worse else ""
            yield f"{len(same)} items, first {same[0].name}: {kind}{mark}"
        else:
            yield from map(str, same)


def _unproven(records: Iterable[Record]) -> Iterator[str]:
    """Yield of which clauses nothing could be seen, by the word that would let it be."""
    by_word: dict[tuple[str, str], list[Record]] = {}
    for record, clause in _clauses(records, Status.UNPROVEN):
        by_word.setdefault((clause.name, clause.word or ""), []).append(record)
    for (name, word), same in by_word.items():
        yield f"{name}: {_items(same)}" + (word and f": not claimed: {word}")


def _measured(records: Iterable[Record], status: str) -> Iterator[str]:
    """Yield which numeric checks ended so; elements are undecided where the check still holds."""
    found: dict[str, list[Record]] = {}
    elements: Counter[str] = Counter()
    for record in records:
        for measure in (m for c in record.clauses for m in c.measures):
            loose = measure.undecided if status == "undecided" else 0
            if measure.status == status or loose:
                found.setdefault(measure.name, []).append(record)
                elements[measure.name] += loose
    for name, same in found.items():
        yield f"{name}: {_items(same)}" + (
            f", {counted(elements[name], 'element')}" if elements[name] else ""
        )


def _loosened(records: Iterable[Record]) -> Iterator[str]:
    by_reason: dict[str, list[Record]] = {}
    for record in records:
        for clause in record.clauses:
            told = _LOOSENED.search(clause.detail) if clause.name == "values" else None
            if told is not None and float(told[1]) > _EXACT:
                by_reason.setdefault(told[0], []).append(record)
    yield from (f"{reason}: {_items(same)}" for reason, same in by_reason.items())


def _advisories(records: Iterable[Record]) -> Iterator[str]:
    """Yield what differs from our pins alone: shown, never counted."""
    found = list(_clauses(records, Status.ADVISORY))
    for record, clause in found[:MANY]:
        yield f"{record.id}: {clause.detail.splitlines()[0]}"
    if len(found) > MANY:
        yield f"and {len(found) - MANY} more"


def _expected(content: ReportContent) -> Iterator[str]:
    if content.expected is None:
        return
    wanted, found = set(content.expected), set(content.case_ids)
    if wanted == found:
        yield f"{counted(len(wanted), 'item')}, as {content.expected_file} lists them"
        return
    yield (
        f"{counted(len(wanted), 'item')} as {content.expected_file} lists them; "
        f"{len(wanted - found)} missing, {len(found - wanted)} not listed"
    )
    for title, ids in (("missing", wanted - found), ("not listed", found - wanted)):
        yield from (f"{title}: {item}" for item in sorted(ids)[:MANY])
        if len(ids) > MANY:
            yield f"{title}: and {len(ids) - MANY} more"


def _covered(content: ReportContent) -> Iterator[str]:
    """Yield how much of what is published was covered, if all items of some profile were run."""
    whole = any(
        all(rung.selected == rung.items for rung in standing.rungs)
        for standing in content.standings
    )
    if content.coverage is None or not whole:
        return
    for name in ("clauses", "operators", "dtypes", "faults"):
        part: Part = getattr(content.coverage, name)
        counts = [f"{len(part.failed)} failed"] * bool(part.failed)
        counts += [f"{len(part.open)} open"] * bool(part.open)
        if part.gaps:
            more = f" and {len(part.gaps) - MANY} more" if len(part.gaps) > MANY else ""
            counts.append(f"{counted(len(part.gaps), 'gap')}: {', '.join(part.gaps[:MANY])}{more}")
        told = "".join(f", {count}" for count in counts)
        yield f"{name}: {len(part.proven)} of {part.published} proven{told}"


def _clauses(records: Iterable[Record], status: Status) -> Iterator[tuple[Record, Clause]]:
    return ((r, clause) for r in records for clause in r.clauses if clause.status is status)


def _items(records: Sequence[Record]) -> str:
    """Return ``3 items, first ID``, or the one item's id."""
    distinct = tuple(dict.fromkeys(record.id for record in records))
    return distinct[0] if len(distinct) == 1 else f"{len(distinct)} items, first {distinct[0]}"
