"""How well it is known where work ran and what was copied, and that nothing known contradicts it.

The report of a backend is held against what does not rest on it: the readings of a meter, the
memory that arrays lie in, and what changes when one device's results are doubled. A contradiction
fails, whatever the values are. What agrees raises the grade of the clauses on placement and copies
(`graded`): caused, metered, reported, unobserved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from hettest.expect import meter, transfers
from hettest.expect.placement import wanted
from hettest.expect.situation import Situation
from hettest.expect.unplaced import devices_of_unplaced
from hettest.outcome import Clause, Evidence, Status

Part: TypeAlias = Callable[[Situation], Iterator[str]]

GRADED: Final = ("placement", "copies", "moved", "arrivals")
"""The clauses that have a grade."""


def misplaced_arrays(situation: Situation) -> Iterator[str]:
    """Yield the values that lie elsewhere than where their operator is reported to have run."""
    for name, device in (situation.observation.spaces or {}).items():
        made = situation.made_on.get(name)
        if made and device not in made:
            listed = " and ".join(sorted(made))
            yield f"{name}: reported to have run on {listed}, but its array lies on {device}"


def unchanged_results(situation: Situation) -> Iterator[str]:
    """Yield where results did not change as predicted when a device's were doubled."""
    if situation.caused is not None:
        yield from situation.caused.misses


PARTS: Final[tuple[Part, ...]] = (meter.disagreements, misplaced_arrays, unchanged_results)
"""What can contradict a report."""


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause if there is anything that a report can be held against."""
    against = list(_against(situation))
    if not against:
        return
    wrong = [text for part in PARTS for text in part(situation)]
    if wrong:
        yield Clause("evidence", Status.FAILED, "\n".join(wrong))
    else:
        detail = f"the report agrees with {' and '.join(against)}"
        yield Clause("evidence", Status.PROVEN, detail)


def _against(situation: Situation) -> Iterator[str]:
    observation = situation.observation
    if observation.metered:
        yield f"the meter of {', '.join(observation.metered)}"
    if observation.spaces:
        yield f"the memory of {len(observation.spaces)} arrays"
    if situation.caused is not None:
        yield f"what changed when {', '.join(situation.caused.devices)} was doubled alone"


def graded(situation: Situation, clauses: Iterable[Clause]) -> list[Clause]:
    """Return the clauses, those on placement and copies with their grades.

    On the host alone there is nothing to be known, and no grade.
    """
    found = list(clauses)
    if not situation.has_accelerators:
        return found
    contradicted = any(c.name == "evidence" and c.status is Status.FAILED for c in found)
    return [
        replace(clause, evidence=_grade(situation, clause, contradicted))
        if clause.name in GRADED
        else clause
        for clause in found
    ]


def _grade(situation: Situation, clause: Clause, contradicted: bool) -> Evidence:
    if clause.status is Status.UNPROVEN:
        return Evidence.UNOBSERVED
    if contradicted:
        return Evidence.REPORTED
    if clause.name == "placement":
        return _grade_of_placement(situation)
    sizes = clause.name != "arrivals" and _limits_bytes(situation, clause.name)
    counted = meter.counts_transfers(situation, sizes)
    return Evidence.METERED if counted else Evidence.REPORTED


def _limits_bytes(situation: Situation, name: str) -> bool:
    counts = situation.expect.copies if name == "copies" else situation.expect.moved
    return bool(transfers.limits(situation, counts, name)[1])


def _grade_of_placement(situation: Situation) -> Evidence:
    placed = _placed(situation)
    if situation.caused is not None and situation.caused.shown.issuperset(placed):
        return Evidence.CAUSED
    if meter.counts_launches(situation):
        return Evidence.METERED
    lying = situation.observation.spaces
    return Evidence.METERED if lying and set(lying).issuperset(placed) else Evidence.REPORTED


def _placed(situation: Situation) -> Sequence[str]:
    """Return the variables that ran and whose place is checked.

    Where the backend reports nothing, all that are requested.
    """
    names = wanted(situation)
    if situation.observation.executions is None:
        return list(names)
    every = dict.fromkeys((*names, *devices_of_unplaced(situation)))
    return [name for name in every if situation.made_on.get(name)]
