"""What benchmarks are held to: how much slower one may get, and what it may cost.

Where several limits name a benchmark, each thing that is limited counts from the last of them that
limits it. `limits_file` reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from hettest.bench.measurement import Costs
from hettest.limits import show_bytes
from hettest.patterns import fits

SLOWER: Final = 1.10
"""Times what it took before, if no limit says otherwise."""

COPIES: Final = "copies"
BYTES: Final = "bytes"
PEAK_MEMORY: Final = "peak memory"


@final
@dataclass(frozen=True, slots=True)
class Limit:
    """One entry of the file."""

    benchmark: str
    """Names of benchmarks; ``*`` and ``?`` stand for any characters."""

    slower: float | None = None
    most: Mapping[str, int] = field(default_factory=dict)
    """Of `COPIES`, of `BYTES`, of `PEAK_MEMORY` in bytes on each device."""

    reason: str = ""
    file: str = ""
    line: int | None = None

    def names(self, benchmark: str) -> bool:
        """Whether it is for this benchmark."""
        return fits(benchmark, self.benchmark)

    @property
    def place(self) -> str:
        """Where it stands: ``limits.toml:3``."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """All that benchmarks are held to."""

    entries: Sequence[Limit] = ()
    slower_by_default: float = SLOWER

    def slower(self, benchmark: str) -> float:
        """Return how many times longer a benchmark may take."""
        found = self._timed(benchmark)
        return self.slower_by_default if found is None or found.slower is None else found.slower

    def reason(self, benchmark: str) -> str:
        """Return why a benchmark has a limit of time of its own; empty if it has none."""
        found = self._timed(benchmark)
        return "" if found is None else found.reason

    def breaches(self, benchmark: str, costs: Costs | None) -> Iterator[str]:
        """Yield what a benchmark costs more than it may."""
        for what, seen, most in self._held(benchmark, costs):
            if seen is not None and seen > most:
                show = str if what == COPIES else show_bytes
                yield f"{what}: {show(seen)}, at most {show(most)} are allowed"

    def unseen(self, benchmark: str, costs: Costs | None) -> Iterator[str]:
        """Yield what is limited, and not known of a benchmark."""
        for what, seen, _ in self._held(benchmark, costs):
            if seen is None:
                yield f"{what}: limited, and not shown by the backend"

    def unmatched(self, benchmarks: Collection[str]) -> Iterator[Limit]:
        """Yield the limits that are for none of the benchmarks."""
        for limit in self.entries:
            if not any(map(limit.names, benchmarks)):
                yield limit

    def _of(self, benchmark: str) -> Iterator[Limit]:
        return (limit for limit in self.entries if limit.names(benchmark))

    def _timed(self, benchmark: str) -> Limit | None:
        found = [limit for limit in self._of(benchmark) if limit.slower is not None]
        return found[-1] if found else None

    def _held(self, benchmark: str, costs: Costs | None) -> Iterator[tuple[str, int | None, int]]:
        """Yield what is limited: its name, how much was seen, and how much is allowed."""
        most = {what: n for limit in self._of(benchmark) for what, n in limit.most.items()}
        for what, allowed in most.items():
            for name, seen in _seen(what, costs or Costs()).items():
                yield name, seen, allowed


def _seen(what: str, costs: Costs) -> Mapping[str, int | None]:
    """Return what was seen of one thing that is limited, of memory for each device."""
    if what != PEAK_MEMORY:
        return {what: costs.copies if what == COPIES else costs.moved_bytes}
    if not costs.placed_peak:
        return {what: None}
    return {f"{what} on {device}": peak for device, peak in costs.placed_peak.items()}
