"""What changed between two reports, and which of it is for the worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar, final

from hettest.levels.standing import Standing
from hettest.outcome import Outcome, Record
from hettest.report.content import ReportContent

_RANK: Final = (
    Outcome.PASSED,
    Outcome.UNSUPPORTED,
    Outcome.WAIVED,
    Outcome.NOT_RUN,
    Outcome.FAILED,
    Outcome.CRASHED,
)
"""The outcomes, the best first; an item that is no longer there is worse than one unsupported."""

_T = TypeVar("_T")


@final
@dataclass(frozen=True, slots=True)
class Change:
    """One difference."""

    about: str
    """``item``, ``level``, ``waiver``, ``version``, ``suite``, ``devices`` or ``backend``."""

    name: str
    before: str
    """``""`` for what was not there."""

    after: str
    worse: bool = False

    def __str__(self) -> str:
        mark = " (worse)" if self.worse else ""
        return f"{self.name}: {self.before or 'absent'} -> {self.after or 'absent'}{mark}"


def changes(former: ReportContent, now: ReportContent) -> tuple[Change, ...]:
    """Return every difference from ``former`` to ``now``, levels first, then items in order."""
    return (
        *_levels(former, now),
        *_items(former, now),
        *_waivers(former, now),
        *_facts(former, now),
    )


def _levels(former: ReportContent, now: ReportContent) -> Iterator[Change]:
    before, after = ({s.profile: s for s in c.standings} for c in (former, now))
    for profile in dict.fromkeys((*before, *after)):
        old, new = before.get(profile), after.get(profile)
        if _reached(old) != _reached(new):
            yield Change(
                "level", profile, _shown(old), _shown(new), not _reached(old) <= _reached(new)
            )


def _reached(standing: Standing | None) -> frozenset[str]:
    if standing is None:
        return frozenset()
    return frozenset(rung.name for rung in standing.rungs if rung.reach.value == "reached")


def _shown(standing: Standing | None) -> str:
    if standing is None:
        return ""
    ladder = [] if standing.level is None else [f"L{standing.level}"]
    return ", ".join([*ladder, *(rung.name for rung in standing.groups)]) or "no level"


def _items(former: ReportContent, now: ReportContent) -> Iterator[Change]:
    then, since = ({r.id: r for r in c.records} for c in (former, now))
    for name, old, new in _pairs(then, since):
        if old is None or new is None or old.outcome is not new.outcome:
            before, after = ("" if r is None else r.outcome.value for r in (old, new))
            yield Change("item", name, before, after, _worse(old, new))


def _worse(old: Record | None, new: Record | None) -> bool:
    if new is None:
        return old is not None and old.outcome is Outcome.PASSED
    if old is None:
        return new.outcome in (Outcome.FAILED, Outcome.CRASHED)
    return _RANK.index(new.outcome) > _RANK.index(old.outcome)


def _waivers(former: ReportContent, now: ReportContent) -> Iterator[Change]:
    before, after = (dict.fromkeys(r.waiver for r in c.records if r.waiver) for c in (former, now))
    for text in before:
        if text not in after:
            yield Change("waiver", text, "in use", "")
    for text in after:
        if text not in before:
            yield Change("waiver", text, "", "in use", worse=True)


def _facts(former: ReportContent, now: ReportContent) -> Iterator[Change]:
    pairs: list[tuple[str, Mapping[str, str], Mapping[str, str]]] = [
        ("version", former.environment or {}, now.environment or {}),
        ("source", former.packages or {}, now.packages or {}),
        ("suite", former.suite, now.suite),
    ]
    for about, before, after in pairs:
        for name, old, new in _pairs(before, after):
            if old != new:
                yield Change(about, f"{about} {name}", _short(old), _short(new))
    for about in ("backend", "devices"):
        old, new = (str(getattr(c, about)) for c in (former, now))
        if old != new:
            yield Change(about, about, _short(old), _short(new))


def _short(text: str | None) -> str:
    return (text or "")[:12] if len(text or "") == 64 else text or ""


def _pairs(
    before: Mapping[str, _T], after: Mapping[str, _T]
) -> Iterator[tuple[str, _T | None, _T | None]]:
    for name in dict.fromkeys((*before, *after)):
        yield name, before.get(name), after.get(name)
