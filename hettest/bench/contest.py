"""One program made ready to be timed both ways: checked, compiled for speed, and checked again.

Nothing is timed that is not right: the program is checked as `Het.check` does, then compiled for
speed alone, and what that gives must be the checked results, or be judged as good.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from hettest.backend.calls import compiled, observed
from hettest.backend.nesting import copied
from hettest.backend.protocol import Executable, Observation, Options, Purpose, Timing
from hettest.bench.measurement import CompileSeconds, Costs
from hettest.bench.rounds import Sides
from hettest.devicemap import show
from hettest.judge import judge
from hettest.judge.nesting import leaves, misfit
from hettest.runner.given import Args, HetFailure, Source, Where, arguments_of, roles_of
from hettest.runner.het import Het, Prepared, Report

if TYPE_CHECKING:
    from hettest.backend.protocol import Value


@final
@dataclass(frozen=True)
class Contest:
    """A program compiled for speed, CPU-only and placed; each way is right for `args`."""

    het: Het
    prepared: Prepared
    entry: str
    cpu_only: Executable
    placed: Executable
    report: Report
    """What the check of the first arguments saw."""

    args: tuple[Value, ...]
    compile_seconds: CompileSeconds

    @property
    def sides(self) -> Sides:
        """The two ways to run it, each until its results are there and its devices are idle."""
        return Sides(
            _waited(self.cpu_only, self.entry, self.args),
            _waited(self.placed, self.entry, self.args),
        )

    def given(self, args: Args) -> Contest:
        """Return the contest over other arguments, once they are checked too.

        Raises:
            HetFailure: A check does not hold.
        """
        report = self.het.check_prepared(self.prepared, args, entry=self.entry)
        module = self.prepared.program.module
        found = replace(self, report=report, args=copied(arguments_of(module, self.entry, args)))
        _verify(found)
        return found

    def transfers(self) -> Costs:
        """Return what the check saw of a placed run's transfers."""
        shown = self.report.transfers
        sized = shown is not None and all(copy.bytes is not None for copy in shown)
        return Costs(
            copies=None if shown is None else self.report.copies,
            moved_bytes=self.report.moved_bytes if sized else None,
        )

    def costs(self) -> Costs:
        """Return what a placed run costs, and how much memory each way needs."""
        options = replace(self.prepared.options, purpose=Purpose.PROFILE)
        placed = self._profiled(options, self.prepared.binding)
        alone = self._profiled(*_alone(self.prepared, self.het, self.entry, Purpose.PROFILE))
        return replace(
            self.transfers(),
            copy_share=copy_share(placed.profile),
            placed_peak=_peaks(placed),
            cpu_only_peak=_peaks(alone),
        )

    def _profiled(self, options: Options, binding: Mapping[str, str]) -> Observation:
        """Return what the second of two runs shows: the first one warms up."""
        executable = compiled(self.het.backend, self.prepared.program, binding, options)
        observed(executable, self.entry, copied(self.args))
        return observed(executable, self.entry, copied(self.args))


def contest(
    het: Het,
    program: Source,
    args: Args,
    *,
    on: Where,
    entry: str,
    policy: str,
    place: str | Sequence[str],
) -> Contest:
    """Check a program, and return it compiled for speed.

    Raises:
        HetFailure: A check does not hold, or the program was refused.
        UsageError: What was asked for makes no sense; says why.
        BackendCrash: The backend raised something other than a rejection.
    """
    start = time.perf_counter()
    prepared = het.prepare(program, on=on, policy=policy, place=place, entry=entry)
    first = time.perf_counter() - start
    report = het.check_prepared(prepared, args, entry=entry)
    options = replace(prepared.options, purpose=Purpose.TIME)
    alone, cpu_seconds = _compiled(het, prepared, *_alone(prepared, het, entry, Purpose.TIME))
    placed, placed_seconds = _compiled(het, prepared, options, prepared.binding)
    found = Contest(
        het=het,
        prepared=prepared,
        entry=entry,
        cpu_only=alone,
        placed=placed,
        report=report,
        args=copied(arguments_of(prepared.program.module, entry, args)),
        compile_seconds=CompileSeconds(first, cpu_seconds, placed_seconds),
    )
    _verify(found)
    return found


def copy_share(profile: Sequence[Timing] | None) -> float | None:
    """Return the part of the seconds that copies took, 0 to 1; ``None`` if nothing was timed."""
    total = sum(timing.seconds for timing in profile or ())
    if not total:
        return None
    return sum(t.seconds for t in profile or () if t.kind == "copy") / total


def _alone(
    prepared: Prepared, het: Het, entry: str, purpose: Purpose
) -> tuple[Options, Mapping[str, str]]:
    """Return what the CPU-only program is compiled with."""
    options = Options(default=het.host, entry=entry, purpose=purpose)
    roles = roles_of(prepared.program) or prepared.binding
    return options, dict.fromkeys(roles, het.host)


def _compiled(
    het: Het, prepared: Prepared, options: Options, binding: Mapping[str, str]
) -> tuple[Executable, float]:
    start = time.perf_counter()
    executable = compiled(het.backend, prepared.program, binding, options)
    return executable, time.perf_counter() - start


def _waited(executable: Executable, entry: str, args: Sequence[Value]) -> Callable[[], None]:
    run, wait = executable.run, getattr(executable, "synchronize", None)

    def run_and_wait() -> None:
        run(entry, args)
        if wait is not None:
            wait()

    return run_and_wait


def _peaks(observation: Observation) -> Mapping[str, int] | None:
    if observation.memory is None:
        return None
    return {device: memory.peak for device, memory in observation.memory.items()}


def _verify(found: Contest) -> None:
    """Hold what is to be timed to what was checked.

    Raises:
        HetFailure: It computes something else, and that is not as good.
    """
    module, report = found.prepared.program.module, found.report
    alone = observed(found.cpu_only, found.entry, copied(found.args))
    placed = observed(found.placed, found.entry, copied(found.args))
    pairs = (
        ("the CPU alone", alone, report.cpu_only, None),
        (show(found.prepared.binding), placed, report.results, alone),
    )
    for where, run, checked, baseline in pairs:
        if _same(run.results, checked):
            continue
        verdict = judge(module, found.entry, found.args, run, baseline)
        if not verdict.holds:
            details = "\n".join(f"  {c.name}: {c.detail}" for c in verdict.failures)
            raise HetFailure(
                f"compiled to be timed, the program on {where} computes something else than when "
                f"it was checked:\n{details}"
            )


def _same(found: Value, expected: Value) -> bool:
    """Whether two results are equal to the bit."""
    if misfit(found, expected) is not None:
        return False
    return all(map(_equal, leaves(found), leaves(expected)))


def _equal(found: Any, expected: Any) -> bool:
    alike = found.dtype == expected.dtype and found.shape == expected.shape
    return bool(alike and found.tobytes() == expected.tobytes())
