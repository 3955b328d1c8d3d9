"""In which loop over the row each instruction of a nest runs.

What does not depend on the place in the row runs once. The rest runs in as many loops as folds
follow one another, and the last of them stores the results. For softmax, ``e / total`` with
``e = exp(x - top)``::

    loop 0: fold top
    loop 1: e, fold total; e is kept in a scratch row
    loop 2: e from the scratch row; store e / total

A value that a later loop needs again is computed again if that is cheap, else kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

from reference_vm.loops.nest import Inner, Nest

_KEPT_FROM: Final = 12
"""A value that takes so many steps to compute is kept for later loops."""

_COSTLY: Final = {"div": 8, "fmod": 40, "sqrt": 8, "call": 80, "sdiv": 20, "srem": 20}


@final
@dataclass(frozen=True, slots=True)
class RowLoop:
    """One loop over the row; instructions and stores by number, in order."""

    compute: tuple[int, ...]
    folds: tuple[int, ...]
    recalled: tuple[int, ...]
    """Values read from scratch rows."""

    kept: tuple[int, ...]
    """Values written to scratch rows."""

    stores: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Schedule:
    """The loops of a nest."""

    once: tuple[tuple[int, ...], ...]
    """What runs before each loop, and after the last: one more than there are loops."""

    loops: tuple[RowLoop, ...]
    scratch: tuple[int, ...]
    """The value that each scratch row holds."""

    stores_once: tuple[int, ...]
    """Stores of one element a row, after all loops."""


def schedule(nest: Nest) -> Schedule:
    """Return the loops of ``nest``."""
    return _Scheduler(nest).run()


def vector_schedule(nest: Nest) -> Schedule:
    """Return the loops of ``nest`` where costly ones shall become vector code.

    Elements some distance apart, which are no vectors, are first gathered into scratch rows.
    """
    plan = schedule(nest)
    apart = tuple(i for loop in plan.loops for i in loop.compute if _is_apart(nest, i))
    folds_only = len(plan.stores_once) == len(nest.stores) and len(plan.loops) == 1
    if not apart or folds_only or max(_costs(nest)) < _KEPT_FROM:
        return plan
    apart = tuple(dict.fromkeys(apart))
    gathering = RowLoop(apart, (), (), apart, ())
    loops = [gathering, *(_recalling(loop, apart) for loop in plan.loops)]
    return Schedule(((), *plan.once), tuple(loops), (*plan.scratch, *apart), plan.stores_once)


def _is_apart(nest: Nest, index: int) -> bool:
    instruction = nest.code[index]
    if instruction.op != "load":
        return False
    assert isinstance(instruction.detail, int)
    return nest.accesses[instruction.detail].inner is Inner.STRIDED


def _recalling(loop: RowLoop, gathered: Sequence[int]) -> RowLoop:
    compute = tuple(i for i in loop.compute if i not in gathered)
    recalled = (*loop.recalled, *(i for i in loop.compute if i in gathered))
    return replace(loop, compute=compute, recalled=recalled)


@final
@dataclass
class _Scheduler:
    nest: Nest
    ready: dict[int, int] = field(default_factory=dict)
    """The loop that each value was first computed in."""

    scratch: list[int] = field(default_factory=list)

    def run(self) -> Schedule:
        nest = self.nest
        last = max(nest.phases, default=0)
        once = [tuple(self._once(phase)) for phase in range(last + 1)]
        in_row = [i for i, s in enumerate(nest.stores) if s.inner is not Inner.ZERO]
        wanted = [self._folds(phase) for phase in range(last + 1)]
        loops: list[RowLoop] = []
        before: list[tuple[int, ...]] = []
        waiting: tuple[int, ...] = ()
        for phase in range(last + 1):
            stores = in_row if phase == last else []
            waiting += once[phase]
            if wanted[phase] or stores:
                before.append(waiting)
                waiting = ()
                loops.append(self._loop(phase, wanted[phase], stores))
        loops = self._with_kept(loops)
        stores_once = tuple(i for i in range(len(nest.stores)) if i not in in_row)
        return Schedule((*before, waiting), tuple(loops), tuple(self.scratch), stores_once)

    def _once(self, phase: int) -> Iterable[int]:
        nest = self.nest
        for i, instruction in enumerate(nest.code):
            if nest.phases[i] == phase and not nest.per_element[i] and instruction.op != "fold":
                yield i

    def _folds(self, phase: int) -> list[int]:
        nest = self.nest
        return [
            i for i, c in enumerate(nest.code) if c.op == "fold" and nest.phases[i] == phase + 1
        ]

    def _loop(self, phase: int, folds: Sequence[int], stores: Sequence[int]) -> RowLoop:
        nest = self.nest
        stack = [nest.code[f].args[0] for f in folds]
        stack += [nest.stores[s].value for s in stores]
        compute: set[int] = set()
        recalled: set[int] = set()
        while stack:
            top = stack.pop()
            if top in compute or top in recalled or not nest.per_element[top]:
                continue
            if self.ready.get(top, phase) < phase and self._costs[top] >= _KEPT_FROM:
                recalled.add(top)
                continue
            compute.add(top)
            stack.extend(nest.code[top].args)
        for value in compute:
            self.ready.setdefault(value, phase)
        self.scratch.extend(v for v in sorted(recalled) if v not in self.scratch)
        ordered = tuple(sorted(compute))
        return RowLoop(ordered, tuple(folds), tuple(sorted(recalled)), (), tuple(stores))

    def _with_kept(self, loops: Sequence[RowLoop]) -> list[RowLoop]:
        """Let each loop keep what later ones recall and it was the first to compute."""
        missing = set(self.scratch)
        found: list[RowLoop] = []
        for loop in loops:
            kept = tuple(v for v in loop.compute if v in missing)
            missing.difference_update(kept)
            found.append(RowLoop(loop.compute, loop.folds, loop.recalled, kept, loop.stores))
        return found

    def __post_init__(self) -> None:
        self._costs = _costs(self.nest)


def _costs(nest: Nest) -> list[int]:
    """Return about how many steps each value takes, from what is loaded."""
    costs: list[int] = []
    for instruction, varies in zip(nest.code, nest.per_element, strict=True):
        if not varies:
            costs.append(0)
            continue
        own = _COSTLY.get(instruction.op, 1)
        for arg in instruction.args:
            own += costs[arg]
        costs.append(min(1000, own))
    return costs
