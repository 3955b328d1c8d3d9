"""Decides whether benchmarks pass, and measures again what seems slower before it fails.

::

    found = decide(measure, Limits(), confirm=2)
    found.exit_code         # 1: something is slower, confirmed; 6: not all was compared; else 0

``measure`` runs the benchmarks that it is given the names of, ``None`` for all. A benchmark that is
slower by one measurement is measured again, and fails only if it is slower each time, so that the
chances of false alarms multiply; else the last measurement counts, which nobody chose for what it
says. Costs need no second look.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Protocol, final

from hettest.bench.change import Change
from hettest.bench.comparison import Comparison, Row
from hettest.bench.gate.limits import Limits
from hettest.bench.measurement import Costs
from hettest.bench.statistics import Verdict
from hettest.bench.stored import StoredRun

FAILED: Final = 1
INCOMPLETE: Final = 6


@final
@dataclass(frozen=True)
class Measurement:
    """The benchmarks beside their baseline, once."""

    comparison: Comparison
    now: StoredRun
    """A run of the checkout that is judged."""


class Measure(Protocol):
    """Runs benchmarks."""

    def __call__(self, names: Collection[str] | None) -> Measurement:
        """Measure the benchmarks of these names, or all of them."""


class Standing(StrEnum):
    """What became of one benchmark."""

    HELD = "held"
    """It is within its limits."""

    SLOWER = "slower"
    """It takes longer than its limit allows, by every measurement."""

    COSTS_MORE = "costs more"
    """It copies more, or needs more memory, than its limit allows."""

    UNDECIDED = "undecided"
    """The interval reaches over the limit, or the measurement is no good."""

    NOT_COMPARED = "not compared"


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One benchmark."""

    name: str
    standing: Standing
    limit: float
    """How many times longer it may take."""

    changes: tuple[Change, ...] = ()
    """By each measurement."""

    notes: tuple[str, ...] = ()
    """What it costs too much, why it was not compared, and what else to know."""

    unseen: tuple[str, ...] = ()
    """What is limited and not known of it."""


@final
@dataclass(frozen=True)
class Decision:
    """All benchmarks, and what the gate makes of them."""

    findings: tuple[Finding, ...]
    missing: tuple[str, ...] = ()
    """Benchmarks of the baseline that did not run, and that nobody said may be missing."""

    new: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    """Where limits stand that are for no benchmark."""

    strict: bool = False
    """Whether what is undecided makes the gate incomplete."""

    def of(self, *standings: Standing) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.standing in standings)

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Why the gate may not pass although nothing is slower; empty if it may."""
        compared = len(self.findings) - len(self.of(Standing.NOT_COMPARED))
        undecided = len(self.of(Standing.UNDECIDED))
        reasons = [f"{name}: is in the baseline, and did not run" for name in self.missing]
        if not compared:
            reasons.append("nothing was compared: no benchmark is in both and was timed")
        elif undecided == compared or (self.strict and undecided):
            reasons.append(f"{undecided} of {compared} benchmarks are undecided")
        for finding in self.of(Standing.NOT_COMPARED):
            reasons.append(f"{finding.name}: {'; '.join(finding.notes)}")
        for finding in self.findings:
            reasons += [f"{finding.name}: {what}" for what in finding.unseen]
        return (*reasons, *(f"{place}: is for no benchmark that ran" for place in self.unmatched))

    @property
    def exit_code(self) -> int:
        """1 if anything is slower or costs more, else 6 if not all was compared, else 0."""
        if self.of(Standing.SLOWER, Standing.COSTS_MORE):
            return FAILED
        return INCOMPLETE if self.incomplete else 0


def decide(
    measure: Measure,
    limits: Limits,
    *,
    confirm: int = 2,
    may_be_missing: Collection[str] = (),
    strict: bool = False,
) -> Decision:
    """Measure, measure again what seems slower, and return what became of each benchmark.

    Args:
        measure: Runs the benchmarks.
        limits: What they are held to.
        confirm: How many times what is slower is measured again.
        may_be_missing: Patterns of benchmarks of the baseline that need not run.
        strict: Whether what is undecided makes the gate incomplete.
    """
    first = measure(None)
    changes = _confirmed(measure, first.comparison.rows, confirm)
    costs = {e.name: None if e.paired is None else e.paired.costs for e in first.now.entries}
    findings = [_finding(row, changes[row.name], limits, costs) for row in first.comparison.rows]
    for name in first.comparison.new:
        findings += _of_new(name, limits, costs)
    unmatched = limits.unmatched(costs)
    return Decision(
        findings=tuple(findings),
        missing=first.comparison.without_missing(may_be_missing).missing,
        new=first.comparison.new,
        unmatched=tuple(limit.place for limit in unmatched),
        strict=strict,
    )


def _confirmed(
    measure: Measure, rows: Sequence[Row], confirm: int
) -> Mapping[str, tuple[Change, ...]]:
    """Return what each measurement says of each benchmark; of most there is one."""
    found: dict[str, list[Change]] = {
        row.name: [] if row.change is None else [row.change] for row in rows
    }
    suspects = [row.name for row in rows if row.verdict is Verdict.SLOWER]
    for _ in range(confirm):
        if not suspects:
            break
        again = {row.name: row.change for row in measure(suspects).comparison.rows}
        for name in suspects:
            found[name].append(again.get(name) or _lost(found[name][-1]))
        suspects = [name for name in suspects if found[name][-1].verdict is Verdict.SLOWER]
    return {name: tuple(changes) for name, changes in found.items()}


def _lost(change: Change) -> Change:
    """Return that nothing more is known of what was slower."""
    return replace(change, verdict=Verdict.AMBIGUOUS, reason="it was not timed again")


def _finding(
    row: Row, changes: Sequence[Change], limits: Limits, costs: Mapping[str, Costs | None]
) -> Finding:
    seen = costs.get(row.name)
    breaches = tuple(limits.breaches(row.name, seen))
    reason = limits.reason(row.name)
    told = (*breaches, *filter(None, (row.note, reason and f"its own limit: {reason}")))
    return Finding(
        name=row.name,
        standing=Standing.COSTS_MORE if breaches else _standing(changes),
        limit=limits.slower(row.name),
        changes=tuple(changes),
        notes=(*told, *_reasons(changes)),
        unseen=tuple(limits.unseen(row.name, seen)),
    )


def _of_new(name: str, limits: Limits, costs: Mapping[str, Costs | None]) -> Sequence[Finding]:
    """Return what is wrong with the costs of a benchmark that the baseline does not have."""
    breaches = tuple(limits.breaches(name, costs[name]))
    if not breaches:
        return ()
    return (Finding(name, Standing.COSTS_MORE, limits.slower(name), notes=breaches),)


def _standing(changes: Sequence[Change]) -> Standing:
    if not changes:
        return Standing.NOT_COMPARED
    match changes[-1].verdict:
        case Verdict.SLOWER:
            return Standing.SLOWER
        case Verdict.AMBIGUOUS:
            return Standing.UNDECIDED
        case _:
            return Standing.HELD


def _reasons(changes: Sequence[Change]) -> Sequence[str]:
    if len(changes) > 1 and len({change.verdict for change in changes}) > 1:
        said = ", then ".join(str(change.verdict) for change in changes)
        return (f"measured {len(changes)} times: {said}",)
    return [change.reason for change in changes[-1:] if change.reason]
