"""Runs the items that show which words a backend keeps, each item once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from hettest.case.expansion import Item
from hettest.isolation import Isolated
from hettest.limits import Limits
from hettest.outcome import Outcome, Record, computed_wrong
from hettest.probing.choosing import Choice, choices, is_computed
from hettest.probing.support import Support, Survey, Tried
from hettest.probing.widened import name_of
from hettest.ran import ran_on
from hettest.runner.asked import Asked
from hettest.runner.cases import CaseData

Progress: TypeAlias = Callable[[Sequence[Choice]], Iterable[Choice]]


def survey(
    backend: str,
    devices: tuple[str, ...],
    items: Sequence[Item],
    limits: Limits,
    *,
    each: int = 1,
    progress: Progress = iter,
) -> Survey:
    """Return what a backend declares, beside what it is observed to do.

    Args:
        backend: Its name, as the user gave it.
        devices: The devices, the host first.
        items: The items to choose from.
        limits: What ends an item.
        each: How many items are run for each word and device.
        progress: Shows how far it is.

    Raises:
        UsageError: The backend cannot be loaded, or has no device of a kind that is named.
        BackendCrash: It cannot be asked about itself.
    """
    plain = Isolated(Asked(backend, devices), limits)
    wide = Isolated(Asked(name_of(backend), devices), limits)
    try:
        plain.facts.check(devices)
        absent = dict(plain.unavailable)
        there = [item for item in items if not any(d in absent for d in item.devices)]
        data = CaseData()
        needs = {item.id: data.requires(item) for item in there}
        chosen = list(choices(needs, there, plain.facts.capabilities, each))
        trial = _Trial(plain, wide)
        words = tuple(trial.support(choice) for choice in progress(chosen))
    finally:
        plain.close()
        wide.close()
    reached = {device for choice in chosen for item in choice.items for device in item.devices}
    offered = {device for item in there for device in item.devices}
    untried = tuple(d for d in devices if d in offered - reached)
    return Survey(backend, devices, absent, words, untried)


@final
@dataclass
class _Trial:
    plain: Isolated
    wide: Isolated
    ended: dict[tuple[bool, str], Record] = field(default_factory=dict)

    def support(self, choice: Choice) -> Support:
        tried = []
        for item in choice.items:
            tried.append(_tried(choice.word, self._run(item, choice.declared)))
        return Support(choice.word, choice.declared, tuple(tried))

    def _run(self, item: Item, declared: bool) -> Record:
        key = declared, item.id
        if key not in self.ended:
            self.ended[key] = (self.plain if declared else self.wide).run(item)
        return self.ended[key]


def _tried(word: str, record: Record) -> Tried:
    """Return how an item ended for a word.

    What a planner did says nothing of operators, as long as each device was seen to compute.
    """
    if record.outcome is Outcome.FAILED and is_computed(word) and not computed_wrong(record):
        where = ran_on(record)
        if not where or where.issuperset(record.devices):
            return Tried(record.id, Outcome.PASSED)
    return Tried(record.id, record.outcome, record.reason)
