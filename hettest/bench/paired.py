"""Times a program CPU-only and placed, round by round in turn, and says whether placing it paid.

Correctness comes first: a program whose checks fail is not timed. Then rounds are run until the
times have settled, then those that count, in which `rounds.Alternation` times the CPU-only side
and pytest-benchmark the placed one. pytest-benchmark keeps all that was found (`measurement`), so
that its comparisons, its JSON files and whatever reads them go on working.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, Union, final

from hettest.bench.break_even import break_even
from hettest.bench.contest import Contest, contest
from hettest.bench.measurement import Paired, Sweep, Timings
from hettest.bench.rounds import Alternation, Clock, WarmUp, timed_rounds, warmed_up
from hettest.bench.statistics import Assessment, assess
from hettest.errors import UsageError
from hettest.runner.given import Args, Source, Where, briefly
from hettest.runner.het import Het

LEAST: Final = 40
"""Rounds, if none are asked for, however long one takes."""

MOST: Final = 200

SECONDS: Final = 2.0
"""How long all rounds of one measurement take, if that gives more than `LEAST` of them."""

WARM_UP_SECONDS: Final = 1.0

MakesArgs: TypeAlias = Callable[..., Args]
"""Makes the arguments for one size, given by its name: ``make_args(n=64)``."""


@final
@dataclass(frozen=True)
class PairedBenchmark:
    """The fixture ``het_benchmark``; call it once in a test."""

    het: Het
    begin: Callable[[], Any]
    """Returns pytest-benchmark's fixture, which complains if it is made and not used."""

    clock: Clock = field(default_factory=Clock)
    why_off: str = "pytest-benchmark is switched off"
    """What to say if pytest-benchmark times nothing."""

    found: list[Paired] = field(default_factory=list)
    """What was measured, for whoever reports it."""

    @briefly
    def __call__(
        self,
        program: Source,
        args: Union[Args, MakesArgs],
        *,
        on: Where | None = None,
        entry: str = "main",
        policy: str = "copy",
        place: str | Sequence[str] = (),
        rounds: int | None = None,
        sizes: Mapping[str, Sequence[int]] | None = None,
        seed: int = 0,
    ) -> Paired:
        """Check ``program``, time it both ways in turn, and return what that says.

        Args:
            program: Its text, a module, or an ONNX model.
            args: The arguments of ``entry``, in order or by name; with ``sizes``, a function that
                makes those of one size.
            on: Devices for the roles; otherwise those named by ``--devices``, in order.
            entry: The function to run.
            policy: What to do with a value wanted on two devices.
            place: Patterns of names, for placing imported models.
            rounds: How often each way is timed; by default what fits into two seconds, 40 to 200.
            sizes: ``{"n": (64, 256, 1024)}``: time each of them, and say from which on the placed
                program is faster. The last is the one whose rounds pytest-benchmark keeps.
            seed: Of the order in which the sides take turns, and of the bootstrap.

        Raises:
            HetFailure: A check does not hold; nothing was timed.
            UsageError: What was asked for makes no sense; says why.
        """
        if self.found:
            raise UsageError(
                "het_benchmark: call it once in a test; pytest-benchmark keeps one series for each"
            )
        if rounds is not None and rounds < 1:
            raise UsageError(f"het_benchmark: found rounds={rounds}, expected 1 or more")
        name, swept = _sizes(sizes, args)
        makes: MakesArgs = args if callable(args) else lambda **_: args
        first = makes(**{name: swept[0]}) if swept else makes()
        found = contest(
            self.het,
            program,
            first,
            on=self._where(on),
            entry=entry,
            policy=policy,
            place=place,
        )
        contests = [found, *(found.given(makes(**{name: size})) for size in swept[1:])]
        return self._kept(contests, name, swept, rounds, seed)

    def _kept(
        self,
        contests: Sequence[Contest],
        name: str,
        swept: Sequence[int],
        rounds: int | None,
        seed: int,
    ) -> Paired:
        """Time each contest, the last one with pytest-benchmark, and let it keep what was found."""
        last = contests[-1]
        benchmark = self.begin()
        timings, assessments = None, []
        if benchmark.enabled:
            assessments = [self._assessed(c, rounds, seed) for c in contests[:-1]]
            timings = self._timed(last, benchmark, rounds, seed)
        else:
            benchmark.pedantic(last.sides.placed)
        found = Paired(
            backend=self.het.backend.name,
            devices=dict(last.prepared.binding),
            compile_seconds=last.compile_seconds,
            costs=last.costs() if timings else last.transfers(),
            timings=timings,
            not_timed="" if timings else self.why_off,
            sweep=_swept(name, swept, assessments, timings),
            seed=seed,
        )
        benchmark.extra_info.update(_for_tables(found), hettest=found.to_json())
        self.found.append(found)
        return found

    def _timed(self, of: Contest, benchmark: Any, rounds: int | None, seed: int) -> Timings:
        """Time the placed side with pytest-benchmark, and the CPU-only side around it."""
        turns, warm = self._warm(of, seed)
        wanted = rounds or _fitting(warm)
        turns.cpu_only.clear()
        benchmark.pedantic(
            turns.sides.placed, setup=turns.before_placed, rounds=wanted, iterations=1
        )
        turns.finish()
        cpu_only, placed = turns.cpu_only[:wanted], list(benchmark.stats.stats.data)
        found = assess(cpu_only, placed, seed=seed)
        return Timings(tuple(cpu_only), tuple(placed), found, warm.rounds, warm.settled)

    def _assessed(self, of: Contest, rounds: int | None, seed: int) -> Assessment:
        """Time both sides, for one size of several."""
        turns, warm = self._warm(of, seed)
        return assess(*timed_rounds(turns, rounds or _fitting(warm)), seed=seed)

    def _warm(self, of: Contest, seed: int) -> tuple[Alternation, WarmUp]:
        turns = Alternation(of.sides, self.clock, seed)
        return turns, warmed_up(turns, WARM_UP_SECONDS)

    def _where(self, on: Where | None) -> Where:
        if on is not None:
            return on
        if not self.het.devices:
            raise UsageError("het_benchmark: name devices, by on= or by pytest --devices=cpu,sim")
        return self.het.devices


def _fitting(warm: WarmUp) -> int:
    return max(LEAST, min(MOST, math.floor(SECONDS / max(warm.per_round, 1e-6))))


def _sizes(
    sizes: Mapping[str, Sequence[int]] | None, args: Union[Args, MakesArgs]
) -> tuple[str, tuple[int, ...]]:
    """Return the name of the size and the sizes, which ascend; none where none are asked for.

    Raises:
        UsageError: They make no sense, or the arguments cannot be made for them.
    """
    if sizes is None:
        if callable(args):
            raise UsageError(
                "het_benchmark: found a function for the arguments, expected the arguments; it is "
                'called only for sizes: sizes={"n": (64, 256)}'
            )
        return "", ()
    if not callable(args):
        raise UsageError(
            f"het_benchmark: found a {type(args).__name__} for the arguments, expected a function "
            "that makes them for one size, since sizes= is given"
        )
    if len(sizes) != 1:
        listed = ", ".join(sizes) or "none"
        raise UsageError(f"het_benchmark: found the names {listed} in sizes=, expected one")
    ((name, found),) = sizes.items()
    given = tuple(found)
    if not given or not all(isinstance(size, int) and size > 0 for size in given):
        raise UsageError(f"het_benchmark: found sizes {list(given)}, expected positive integers")
    if list(given) != sorted(set(given)):
        raise UsageError(f"het_benchmark: found sizes {list(given)}, expected them to ascend")
    return name, given


def _swept(
    name: str, sizes: Sequence[int], found: Sequence[Assessment], timings: Timings | None
) -> Sweep | None:
    if not sizes or timings is None:
        return None
    every = (*found, timings.assessment)
    return Sweep(name, tuple(sizes), every, break_even(sizes, every))


def _for_tables(found: Paired) -> dict[str, Any]:
    """Return the plain numbers that tables and dashboards show of ``extra_info``."""
    if found.timings is None:
        return {"verdict": None, "not_timed": found.not_timed}
    ratio = found.timings.assessment
    return {
        "verdict": str(ratio.verdict),
        "ratio": ratio.ratio,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "speedup": found.speedup,
        "copies": found.copies,
        "moved_bytes": found.moved_bytes,
        "copy_share": found.copy_share,
        "break_even": None if found.break_even is None else str(found.break_even),
    }
