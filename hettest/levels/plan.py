"""Which items a profile has on the named devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from hettest.case.expansion import Item, expand
from hettest.case.model import Case
from hettest.levels.profile import Profile, Step


@final
@dataclass(frozen=True)
class Planned:
    """The items of one step of a profile."""

    step: Step
    items: tuple[Item, ...]
    beyond: int = 0
    """Cases of the step that have no items here, since they need more devices than were named."""

    absent: tuple[str, ...] = ()
    """Variants that the profile lists and this installation's corpus lacks."""


def variant(item: Item) -> str:
    """Return what tells ``item`` from others of its case, whatever the devices.

    ``plain,dtype=f32``, and of programs with roles the policy too: ``plain,policy=copy``.
    """
    policy = (f"policy={item.policy}",) if item.binding else ()
    return ",".join((item.name, *item.case.swept, *policy))


def planned(
    profile: Profile, corpus: Iterable[Case], devices: Sequence[str]
) -> tuple[Planned, ...]:
    """Return the items of each step of ``profile`` on ``devices``, the first of them the host."""
    by_id: dict[str, list[Case]] = {}
    for case in corpus:
        by_id.setdefault(case.id, []).append(case)
    return tuple(_planned(step, by_id, devices) for step in profile.steps)


def _planned(step: Step, corpus: Mapping[str, list[Case]], devices: Sequence[str]) -> Planned:
    items: list[Item] = []
    absent: list[str] = []
    beyond = 0
    for case_id, variants in step.cases.items():
        cases = corpus.get(case_id, [])
        found = [i for case in cases for i in expand(case, devices) if variant(i) in variants]
        items += found
        if cases and not found and not any(expand(case, devices) for case in cases):
            beyond += 1
            continue
        have = {variant(item) for item in found}
        absent += [f"{case_id}[{name}]" for name in variants if name not in have]
    return Planned(step, tuple(items), beyond, tuple(absent))
