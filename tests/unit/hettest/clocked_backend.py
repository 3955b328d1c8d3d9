"""The small fake backend on a clock that only its own runs move: benchmarks without timing.

A run of ``n`` elements takes ``n`` milliseconds on the CPU alone, and placed what `PLACED` says;
both vary by a few percent, the same in each test. `now` is the clock: ``--benchmark-timer=NOW``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hettest.backend.protocol import Memory, Mode, Observation, Options, Program, Purpose, Timing
from tests.unit.hettest import fake_backend

NOW: Final = "tests.unit.hettest.clocked_backend.now"


@dataclass
class Clock:
    seconds: float = 1.0
    noise: random.Random = field(default_factory=lambda: random.Random(7))

    def pass_by(self, seconds: float) -> None:
        self.seconds += seconds * self.noise.lognormvariate(0, 0.03)


CLOCK: Final = Clock()


def now() -> float:
    return CLOCK.seconds


def ratio(times: float) -> Callable[[int], float]:
    return lambda n: n * 1e-3 * times


def start_and_ratio(n: int) -> float:
    """Half a second to begin with, then five times as fast: even at 625 elements."""
    return 0.5 + n * 2e-4


class Backend(fake_backend.Backend):
    """As fast placed as CPU-only."""

    placed: Callable[[int], float] = staticmethod(ratio(1.0))

    @property
    def capabilities(self) -> frozenset[str]:
        return super().capabilities | {"observe:profile", "observe:memory"}

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        made = super().compile(program, device_map, options)
        alone = set(device_map.values()) == {"cpu:0"}
        return Clocked(made, ratio(1.0) if alone else type(self).placed, options.purpose)


class Slower(Backend):
    placed = staticmethod(ratio(1.3))


class Faster(Backend):
    placed = staticmethod(ratio(0.5))


class WorthItWhenLarge(Backend):
    placed = staticmethod(start_and_ratio)


class WrongWhenTimed(Backend):
    """Right when it is checked, wrong when only speed counts."""

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        made = super().compile(program, device_map, options)
        if options.purpose is Purpose.TIME:
            made.inner.fault = fake_backend.Fault.WRONG_VALUE
        return made


@dataclass
class Clocked:
    inner: fake_backend.Executable
    takes: Callable[[int], float]
    purpose: Purpose

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        CLOCK.pass_by(self.takes(args[0].size))
        seen = self.inner.run(entry, args)
        if self.purpose is Purpose.TIME:
            return Observation(results=seen.results)
        profile = [Timing("cpu:0", 3.0, "kernel", "add"), Timing("sim:0", 1.0, "copy")]
        memory = {f"{kind}:{i}": Memory(0, 0, 48) for kind in ("cpu", "sim") for i in (0, 1)}
        return replace(seen, profile=profile, memory=memory)
