"""Runs a profile's items on a backend, whole or a sample of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from hettest.case.expansion import Item
from hettest.conformance.rerunning import Deviation, deviations, sample
from hettest.corpus import own_cases, select
from hettest.errors import UsageError
from hettest.levels.plan import Planned, planned
from hettest.levels.profile import Profile
from hettest.options import HetOptions
from hettest.outcome import Record
from hettest.report.content import ReportContent
from hettest.session import KitSession

Progress: TypeAlias = Callable[[Sequence[Item]], Iterable[Item]]
"""Passes items on one by one, and may show how far that is."""


def items_of(profile: Profile, devices: Sequence[str], level: int | None = None) -> list[Item]:
    """Return the items of ``profile`` on ``devices``, up to ``level``.

    Raises:
        UsageError: There are none.
    """
    plan = planned(profile, own_cases(), devices)
    items = [i for part in plan if level is None or part.step.level <= level for i in part.items]
    if not items:
        raise UsageError(f"{profile.name} has no item on {', '.join(devices)}{_upto(plan, level)}")
    return items


def _upto(plan: Sequence[Planned], level: int | None) -> str:
    lowest = min((part.step.level for part in plan), default=0)
    return "" if level is None else f" up to level {level}; its lowest is {lowest}"


def run(
    session: KitSession,
    profile: Profile,
    items: Sequence[Item],
    progress: Progress,
    partial: str = "",
) -> ReportContent:
    """Return the report of a run of ``items``; the session is closed then.

    After an interrupt or a signal, the items that are left count as not run.

    Args:
        session: Asked for the devices of ``items``.
        profile: What the run is judged by.
        items: What to run.
        progress: Shows how far it is.
        partial: Why the run is no evidence.

    Raises:
        UsageError: The backend cannot be loaded, or a device's name is mistyped.
    """
    _require_apart(session.options)
    for item in items:
        session.ledger.select(item.id, item.case.level)
    try:
        with session.interruptible():
            session.check(session.tested.apart)
            for item in progress(items):
                session.ledger.add(session.run(item))
    finally:
        with session.interruptible():
            session.release()
    session.close()
    content = session.content()
    ours = [standing for standing in content.standings if standing.profile == profile.name]
    return replace(content, standings=tuple(ours), partial=partial)


def _require_apart(options: HetOptions) -> None:
    """Find out whether the judge is out of the backend's reach.

    Raises:
        UsageError: It is not, so that no level could be told from what it says.
    """
    if not options.isolated:
        raise UsageError(
            "conformance is judged in another process than the backend's, "
            "and --no-isolate judges in its own"
        )


def quick(items: Sequence[Item], percent: float, seed: int) -> tuple[Sequence[Item], str]:
    """Return a sample of ``items``, and why a run of it is no evidence."""
    chosen = sample(items, percent, seed)
    told = f"a sample of {len(chosen)} of {len(items)} items was run ({percent:g}%, seed {seed})"
    return chosen, told


def rerun(
    content: ReportContent, options: HetOptions, records: Sequence[Record], progress: Progress
) -> Iterator[Deviation | str]:
    """Yield each of ``records`` that does not end as it says when it is run again.

    Args:
        content: The report that the records are of.
        options: On which backend and devices to run them.
        records: Which items.
        progress: Shows how far it is.

    Raises:
        UsageError: The backend cannot be loaded, or an item is none of this installation's.
    """
    here = _items_here(options.devices)
    absent = next((r.id for r in records if r.id not in here), None)
    if absent is not None:
        raise UsageError(f"{absent} is no item of this installation; it cannot be run again")
    with _opened(options) as session:
        found = {record.id: record for record in records}
        for item in progress([here[record.id] for record in records]):
            yield from deviations([(found[item.id], item)], session.run)
    if session.crash is not None:
        yield f"the backend crashed after all items: {session.crash}"
    if sorted(content.claims) != sorted(session.claims):
        other = sorted(set(content.claims) ^ set(session.claims))
        yield f"the backend declares other words than the report says: {', '.join(other)}"


def _items_here(devices: Sequence[str]) -> dict[str, Item]:
    return {item.id: item for item in select(own_cases(), devices).items}


@contextmanager
def _opened(options: HetOptions) -> Iterator[KitSession]:
    _require_apart(options)
    session = KitSession(options)
    try:
        session.check(session.tested.apart)
        yield session
    finally:
        session.release()
