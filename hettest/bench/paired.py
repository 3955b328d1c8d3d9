"""Times a program CPU-only and placed, round by round in turn.

Correctness comes first: a program whose checks fail is not timed. The rounds are interleaved, so
that what disturbs the machine disturbs both; pytest-benchmark times the placed rounds and keeps
their history, the CPU-only medians stand in ``extra_info``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, final

from hettest.errors import UsageError
from hettest.runner.given import Args, Source, Where, arguments_of, briefly
from hettest.runner.het import Het
from hettest.runner.run import copied


@final
@dataclass(frozen=True)
class Paired:
    """What one paired measurement found."""

    cpu_only: float | None
    """Median of the CPU-only rounds, in seconds; ``None`` if pytest-benchmark is disabled."""

    placed: float | None
    """Median of the placed rounds, in seconds; ``None`` if pytest-benchmark is disabled."""

    copies: int | None
    """``None`` if the backend does not show its transfers."""

    moved_bytes: int | None

    @property
    def speedup(self) -> float | None:
        """How many times faster the placed run is; below 1 it is slower."""
        if self.cpu_only is None or self.placed is None:
            return None
        return self.cpu_only / self.placed


@final
@dataclass(frozen=True)
class PairedBenchmark:
    """The fixture ``het_benchmark``; call it once in a test."""

    het: Het
    begin: Callable[[], Any]
    """Returns pytest-benchmark's fixture, which complains if it is made and not used."""

    @briefly
    def __call__(
        self,
        program: Source,
        args: Args,
        *,
        on: Where | None = None,
        entry: str = "main",
        policy: str = "copy",
        place: str | Sequence[str] = (),
        rounds: int = 20,
    ) -> Paired:
        """Check ``program``, then time it ``rounds`` times each way, and return both medians.

        Args:
            program: Its text, a module, or an ONNX model.
            args: The arguments of ``entry``, in order or by name.
            on: Devices for the roles; otherwise those named by ``--devices``, in order.
            entry: The function to run.
            policy: What to do with a value wanted on two devices.
            place: Patterns of names, for placing imported models.
            rounds: How often each way is timed, after one round of each that is not.

        Raises:
            HetFailure: A check does not hold; nothing was timed.
        """
        prepared = self.het.prepare(
            program, on=self._where(on), policy=policy, place=place, entry=entry
        )
        report = self.het.check_prepared(prepared, args, entry=entry)
        given = copied(arguments_of(prepared.program.module, entry, args))
        alone: list[int] = []

        def run_cpu_only() -> None:
            start = time.perf_counter_ns()
            prepared.cpu_only.run(entry, given)
            alone.append(time.perf_counter_ns() - start)

        def run_placed() -> None:
            prepared.placed.run(entry, given)

        benchmark = self.begin()
        benchmark.pedantic(
            run_placed, setup=run_cpu_only, rounds=rounds, iterations=1, warmup_rounds=1
        )
        shown = report.transfers is not None
        placed = _median_of(benchmark)
        found = Paired(
            cpu_only=None if placed is None else median(alone[-rounds:]) * 1e-9,
            placed=placed,
            copies=report.copies if shown else None,
            moved_bytes=report.moved_bytes if shown else None,
        )
        benchmark.extra_info.update(
            cpu_only_median=found.cpu_only,
            placed_median=found.placed,
            speedup=found.speedup,
            copies=found.copies,
            moved_bytes=found.moved_bytes,
        )
        return found

    def _where(self, on: Where | None) -> Where:
        if on is not None:
            return on
        if not self.het.devices:
            raise UsageError("het_benchmark: name devices, by on= or by pytest --devices=cpu,sim")
        return self.het.devices


def _median_of(benchmark: Any) -> float | None:
    """Return the median that pytest-benchmark measured; disabled, it measures nothing."""
    return None if benchmark.stats is None else float(benchmark.stats.stats.median)
