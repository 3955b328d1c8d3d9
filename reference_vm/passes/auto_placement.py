"""Choose a plan: the cheapest where that can be had, a good one otherwise, and say which it is.

Two devices and no binding memory budget: a minimum cut, exact under the model. More devices: pairs
of them exchange units by cuts, beginning with all units on one device. A budget that the cheapest
plan breaks: memory is given a price that is raised until plans fit, and runs of neighbours are
tried. Whatever is found, no plan of all units on one device that keeps the budgets is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Final, final

from reference_vm.passes.placement_cuts import cut, starts, swap
from reference_vm.passes.placement_memory import Peak, peaks
from reference_vm.passes.placement_problem import Assignment, Problem
from reference_vm.types import VirtualDevice

Budgets = Mapping[VirtualDevice, int]
"""Bytes."""

_PRICES: Final = tuple(2**k for k in range(-8, 9))
_CLIMBED: Final = 400
"""The most units that are moved about in search of a cheaper plan within the budgets."""

_RUNS: Final = 16
"""How many ways of splitting the program in two runs of neighbours are tried."""


@final
@dataclass(frozen=True, slots=True)
class Decision:
    """A plan, and what is known of it."""

    on: Assignment
    cost: int
    """In picoseconds, by the model."""

    exact: bool
    """Whether no plan is cheaper by the model."""

    method: str
    alone: Mapping[VirtualDevice, int]
    """What all units on one device would cost."""


@final
@dataclass(frozen=True, slots=True)
class Overrun:
    """No plan was found within the budgets; the one that came nearest breaks this one."""

    device: VirtualDevice
    budget: int
    peak: Peak
    proven: bool
    """Whether there is none: nothing is left to be decided."""


def decide(problem: Problem, budgets: Budgets) -> Decision | Overrun:
    """Return the plan, or which budget cannot be kept."""
    plans = list(starts(problem)) or [{}]
    alone = dict(zip(problem.candidates, map(problem.total, plans), strict=False))
    best, method, exact = _unbounded(problem, plans)
    if not _overruns(problem, best, budgets):
        return Decision(best, problem.total(best), exact, method, alone)
    tried = [*plans, best, *_frugal(problem, plans[0], budgets)]
    fitting = [plan for plan in tried if not _overruns(problem, plan, budgets)]
    if fitting:
        best = _climbed(problem, min(fitting, key=problem.total), budgets)
        return Decision(best, problem.total(best), False, "memory budget", alone)
    nearest = min(tried, key=lambda plan: sum(_overruns(problem, plan, budgets).values()))
    device = max((over := _overruns(problem, nearest, budgets)), key=lambda d: over[d])
    peak = peaks(problem, nearest)[device]
    return Overrun(device, budgets[device], peak, not problem.units)


def _unbounded(
    problem: Problem, plans: list[dict[int, VirtualDevice]]
) -> tuple[dict[int, VirtualDevice], str, bool]:
    if not problem.units or len(problem.candidates) < 2:
        return plans[0], "nothing to choose", True
    if len(problem.candidates) == 2:
        first, second = _default_first(problem)
        best = cut(problem, problem.alone(first), first, second)
        if not problem.is_whole:
            return min((*plans, best), key=problem.total), "minimum cut without calls", False
        return best, "minimum cut", True
    found = (swap(problem, plan) for plan in plans)
    return min((*plans, *found), key=problem.total), "cuts between pairs of devices", False


def _default_first(problem: Problem) -> tuple[VirtualDevice, VirtualDevice]:
    first, second = problem.candidates
    return (second, first) if second == problem.places.default else (first, second)


def _overruns(problem: Problem, on: Assignment, budgets: Budgets) -> dict[VirtualDevice, int]:
    """Return by how many bytes a plan breaks each budget that it breaks."""
    if not budgets:
        return {}
    found = peaks(problem, on)
    over = {d: found[d].bytes - most for d, most in budgets.items() if d in found}
    return {d: excess for d, excess in over.items() if excess > 0}


def _frugal(
    problem: Problem, plan: Assignment, budgets: Budgets
) -> Iterator[dict[int, VirtualDevice]]:
    """Yield plans that use less memory on the devices with budgets."""
    for first, second in permutations(problem.candidates, 2):
        for run in range(1, _RUNS):
            border = run * len(problem.units) // _RUNS
            wanted = {u: first if u < border else second for u in plan}
            yield {u: d if d in problem.units[u].costs else plan[u] for u, d in wanted.items()}
    sizes = [_held_by(problem, unit) for unit in range(len(problem.units))]
    scale = max(1, problem.total(plan)) / max(1, sum(sizes))
    for price in _PRICES:
        prices = {
            unit: {d: round(price * scale * size) for d in budgets}
            for unit, size in enumerate(sizes)
        }
        yield swap(problem, plan, prices)


def _climbed(
    problem: Problem, on: dict[int, VirtualDevice], budgets: Budgets
) -> dict[int, VirtualDevice]:
    """Move runs of neighbours to other devices as long as that is cheaper and keeps the budgets."""
    count = len(problem.units)
    if count > _CLIMBED:
        return on
    least = problem.total(on)
    for size in (s for s in (64, 32, 16, 8, 4, 2, 1) if s <= count):
        for start in range(0, count, max(1, size // 2)):
            for device in problem.candidates:
                units = range(start, min(start + size, count))
                able = {u: device for u in units if device in problem.units[u].costs}
                plan = {**on, **able}
                cost = problem.total(plan)
                if cost < least and not _overruns(problem, plan, budgets):
                    on, least = plan, cost
    return on


def _held_by(problem: Problem, unit: int) -> int:
    """Return the bytes that a unit's operands and results take."""
    operations = [problem.graph.operations[i] for i in problem.units[unit].operations]
    held = {v for o in operations for v in (*o.results, *(r.value for r in o.reads))}
    return sum(problem.bytes(problem.graph.values[v].type) for v in held)


__all__ = ["Budgets", "Decision", "Overrun", "decide"]
