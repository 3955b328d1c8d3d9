"""What one paired benchmark found, and the plain data that pytest-benchmark keeps of it.

Beside the seconds of the placed rounds, which are its own, pytest-benchmark keeps
``Paired.to_json()`` as ``extra_info["hettest"]``; `stored` reads it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from hettest.bench.break_even import BreakEven, Reach
from hettest.bench.hooks import TIMING
from hettest.bench.statistics import Assessment, Verdict
from hettest.outcome import Clause, Status

FORMAT: Final = 1
"""Of the data that are kept; a reader refuses others."""


@final
@dataclass(frozen=True, slots=True)
class Timings:
    """The rounds of one paired measurement, and what they say."""

    cpu_only: tuple[float, ...]
    """Seconds of each round, in the order measured."""

    placed: tuple[float, ...]
    assessment: Assessment
    warm_up: int
    """Rounds that were run before these, until the times had settled."""

    settled: bool
    """Whether they had; if not, these rounds began anyway."""

    def to_json(self) -> dict[str, Any]:
        return {
            "cpu_only_seconds": list(self.cpu_only),
            "placed_seconds": list(self.placed),
            "assessment": asdict(self.assessment),
            "warm_up": self.warm_up,
            "settled": self.settled,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Timings:
        found = dict(data["assessment"])
        return cls(
            cpu_only=tuple(data["cpu_only_seconds"]),
            placed=tuple(data["placed_seconds"]),
            assessment=Assessment(**(found | {"verdict": Verdict(found["verdict"])})),
            warm_up=data["warm_up"],
            settled=data["settled"],
        )


@final
@dataclass(frozen=True, slots=True)
class CompileSeconds:
    """How long the compiler took."""

    first: float
    """Both programs, as the process found the backend's caches."""

    cpu_only: float
    """Again, with all that the backend had cached by then."""

    placed: float


@final
@dataclass(frozen=True, slots=True)
class Costs:
    """What a run needs beside its time; ``None`` where the backend does not show it."""

    copies: int | None = None
    """Device copies of the placed run."""

    moved_bytes: int | None = None
    """Of those copies, and of arguments brought to their device."""

    copy_share: float | None = None
    """Seconds in copies as a part of those in kernels and copies, from 0 to 1, each on the clock of
    its device; of a placed run in which each was waited for."""

    placed_peak: Mapping[str, int] | None = None
    """Most bytes in use on each device during the placed run."""

    cpu_only_peak: Mapping[str, int] | None = None


@final
@dataclass(frozen=True, slots=True)
class Sweep:
    """The same program at several sizes."""

    name: str
    """Of the argument that is the size."""

    sizes: tuple[int, ...]
    found: tuple[Assessment, ...]
    break_even: BreakEven

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "sizes": list(self.sizes),
            "found": [asdict(assessment) for assessment in self.found],
            "break_even": asdict(self.break_even),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sweep:
        found = (Assessment(**(a | {"verdict": Verdict(a["verdict"])})) for a in data["found"])
        even = dict(data["break_even"])
        return cls(
            name=data["name"],
            sizes=tuple(data["sizes"]),
            found=tuple(found),
            break_even=BreakEven(**(even | {"reach": Reach(even["reach"])})),
        )


@final
@dataclass(frozen=True)
class Paired:
    """What one paired measurement found; ``str`` of it is one line."""

    backend: str
    devices: Mapping[str, str]
    """Which device each role was."""

    compile_seconds: CompileSeconds
    costs: Costs
    timings: Timings | None = None
    """``None`` if nothing was timed."""

    not_timed: str = ""
    """Why nothing was timed."""

    sweep: Sweep | None = None
    seed: int = 0
    """Of the order of the sides and of the bootstrap."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether the placed program is faster or slower; ``None`` if nothing was timed."""
        return None if self.timings is None else self.timings.assessment.verdict

    @property
    def speedup(self) -> float | None:
        """How many times faster the placed run is; below 1 it is slower."""
        return None if self.timings is None else 1 / self.timings.assessment.ratio

    @property
    def break_even(self) -> BreakEven | None:
        return None if self.sweep is None else self.sweep.break_even

    def clause(self) -> Clause:
        """Return what reports say of it: proven is what is neither ambiguous nor untimed."""
        clear = self.verdict not in (None, Verdict.AMBIGUOUS)
        return Clause(TIMING, Status.PROVEN if clear else Status.UNPROVEN, str(self))

    @property
    def copies(self) -> int | None:
        return self.costs.copies

    @property
    def moved_bytes(self) -> int | None:
        return self.costs.moved_bytes

    @property
    def copy_share(self) -> float | None:
        return self.costs.copy_share

    def __str__(self) -> str:
        if self.timings is None:
            return f"not timed: {self.not_timed}"
        found = self.timings.assessment
        within = f"{found.low:.3g} to {found.high:.3g} ({found.confidence:.1%})"
        times = f"{found.ratio:.3g} times the CPU-only time, {within}, {found.rounds} rounds"
        parts = [f"{found.verdict}: {times}"]
        if found.reason:
            parts.append(found.reason)
        if self.costs.copy_share is not None:
            parts.append(f"{self.costs.copy_share:.0%} of it in copies")
        if self.sweep is not None:
            parts.append(f"over {self.sweep.name}: {self.sweep.break_even}")
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal measurement."""
        return {
            "format": FORMAT,
            "backend": self.backend,
            "devices": dict(self.devices),
            "compile_seconds": asdict(self.compile_seconds),
            "costs": asdict(self.costs),
            "timings": None if self.timings is None else self.timings.to_json(),
            "not_timed": self.not_timed,
            "sweep": None if self.sweep is None else self.sweep.to_json(),
            "seed": self.seed,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Paired:
        timings, sweep = data["timings"], data["sweep"]
        return cls(
            backend=data["backend"],
            devices=data["devices"],
            compile_seconds=CompileSeconds(**data["compile_seconds"]),
            costs=Costs(**data["costs"]),
            timings=None if timings is None else Timings.from_json(timings),
            not_timed=data["not_timed"],
            sweep=None if sweep is None else Sweep.from_json(sweep),
            seed=data["seed"],
        )
