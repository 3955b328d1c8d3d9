"""What a checkout is measured beside: a stored run, or a second checkout that is run in turn."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import final

from hettest.bench.comparison import compare, compare_turns
from hettest.bench.gate.deciding import Measurement
from hettest.bench.gate.limits import Limits
from hettest.bench.gate.measuring import Bench, Checkout, others
from hettest.bench.stored import StoredRun

Say = Callable[[str], None]
"""Told what is being run."""


@final
@dataclass
class StoredBaseline:
    """A run that was stored; each measurement runs the checkout once."""

    then: StoredRun
    checkout: Checkout
    bench: Bench
    limits: Limits
    across_machines: bool = False
    say: Say = print
    _known: Collection[str] = ()

    def __call__(self, names: Collection[str] | None) -> Measurement:
        """Measure the benchmarks of these names, or all of them.

        Raises:
            Unmeasured: Nothing was timed, or not all of it.
            StoredError: What pytest-benchmark wrote is malformed.
        """
        self.say(f"{self.checkout.name}: {_how_many(names)}")
        run = self.bench.measured(self.checkout, _left_out(names, self._known))
        if names is None:
            self._known = tuple(run.by_name)
        found = compare(
            self.then, run, bands=_bands(self.limits), across_machines=self.across_machines
        )
        return Measurement(found, run)


@final
@dataclass
class OtherCheckout:
    """A second checkout; each measurement runs both several times, in turn, in its own process."""

    base: Checkout
    checkout: Checkout
    bench: Bench
    limits: Limits
    turns: int
    say: Say = print
    _known: set[str] = field(default_factory=set)

    def __call__(self, names: Collection[str] | None) -> Measurement:
        """Measure the benchmarks of these names, or all of them, in both checkouts.

        Raises:
            Unmeasured: Nothing was timed, or not all of it.
            StoredError: What pytest-benchmark wrote is malformed.
        """
        found = [self._turn(number, names) for number in range(self.turns)]
        self._known |= {name for turn in found for run in turn for name in run.by_name}
        return Measurement(compare_turns(found, bands=_bands(self.limits)), found[-1][1])

    def _turn(self, number: int, names: Collection[str] | None) -> tuple[StoredRun, StoredRun]:
        """Return a run of each; which is first changes from turn to turn."""
        left_out = _left_out(names, self._known)
        sides = [self.base, self.checkout]
        runs = {}
        for side in sides if number % 2 == 0 else sides[::-1]:
            self.say(f"turn {number + 1} of {self.turns}: {side.name}: {_how_many(names)}")
            runs[side.name] = self.bench.measured(side, left_out)
        return runs[self.base.name], runs[self.checkout.name]


def _left_out(names: Collection[str] | None, known: Collection[str]) -> Collection[str]:
    return () if names is None else others(names, known)


def _bands(limits: Limits) -> Callable[[str], float]:
    return lambda name: limits.slower(name) - 1


def _how_many(names: Collection[str] | None) -> str:
    return "all benchmarks" if names is None else f"again, {', '.join(names)}"
