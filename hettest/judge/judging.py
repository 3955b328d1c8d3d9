"""Judge a run's values: the four numeric checks, and what expected.

1. *local*: each operator, on the operands that it got in the run, is within its own bound;
2. *ratio*: the placed run is at most 4 times worse than the CPU-only run, or than 4 unit
   roundoffs of the result's scale;
3. *anchor*: the CPU-only run's error is at most 8 times the spread of 8 evaluations with random
   rounding;
4. *bound*: the result is within the end-to-end bound, where that is below 1% of the scale.

Integers, bools and moved data must be exact to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from hettest.backend.protocol import Observation
from hettest.judge.compare import Comparison, compare
from hettest.judge.nesting import leaves, misfit, rebuilt
from hettest.judge.verdict import Check, Status, Verdict
from hettest.language import Estimate, Evaluation, Module, Span, oracle, to_numpy

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = "Array | str | tuple[Value, ...]"

RATIO: Final = 4.0
FLOOR: Final = 4.0
"""Unit roundoffs of the result's scale that the placed run may always be off by, times `RATIO`."""

ANCHOR: Final = 8.0
RUNS: Final = 8
IN_FORCE: Final = 0.01
UNDECIDED: Final = 0.01


@final
@dataclass
class _Local:
    """Gathers the local check's findings."""

    worst: float = 0.0
    detail: str = "no operator's result was observed"
    seen: int = 0
    undecided: int = 0
    elements: int = 0
    misshapen: list[str] = field(default_factory=list)

    def visit(self, name: str, op: str, estimate: Estimate, seen: Array, span: Span | None) -> None:
        line = f" (line {span.line})" if span is not None else ""
        if seen.shape != estimate.value.shape:
            self.misshapen.append(
                f"{name} = {op}{line}: shape {seen.shape}, expected {estimate.value.shape}"
            )
            return
        comparison = compare(seen, estimate)
        self.seen += 1
        self.elements += seen.size
        self.undecided += comparison.open_beyond(FLOOR * _unit(estimate) * estimate.scale)
        if comparison.worst > self.worst or self.seen == 1:
            self.worst = max(self.worst, comparison.worst)
            self.detail = _local_detail(name, op, line, estimate, seen, comparison)

    def check(self) -> Check:
        if self.misshapen:
            return Check("local", Status.FAILS, self.misshapen[0], float("inf"))
        if not self.seen:
            return Check("local", Status.UNPROVEN, self.detail)
        status = Status.FAILS if self.worst > 1 else _decided(self.undecided, self.elements)
        detail = self.detail
        if status is Status.UNDECIDED:
            share = f"{self.undecided} of {self.elements}"
            detail = f"{share} elements hang on decisions that rounding could tip"
        return Check("local", status, detail, self.worst, self.undecided)


def _local_detail(
    name: str, op: str, line: str, estimate: Estimate, seen: Array, comparison: Comparison
) -> str:
    if not seen.size or comparison.worst == 0:
        return f"{name} = {op}{line}: exact"
    place = comparison.place
    return (
        f"{name} = {op}{line}: element {list(place)} is {seen[place]}, "
        f"expected {float(estimate.value[place])!r} within {comparison.allowed[place]:.3g}"
        f"{_share(comparison.beyond, seen.size)}"
    )


def _share(wrong: int, size: int) -> str:
    """Return how many elements differ, where any does."""
    return f"; {wrong} of {size} elements differ" if wrong else ""


def _decided(undecided: int, elements: int) -> Status:
    return Status.UNDECIDED if undecided > UNDECIDED * max(elements, 1) else Status.HOLDS


@final
@dataclass
class _Runs:
    """Evaluations with random rounding, made when they are first asked for."""

    module: Module
    entry: str
    args: Sequence[Value]
    evaluation: Evaluation
    observed: Mapping[str, Array] | None
    seed: int

    @cached_property
    def widths(self) -> list[Array]:
        """How far apart the evaluations are, for each result, element by element."""
        made = oracle.spread(
            self.module,
            self.entry,
            self.args,
            self.evaluation,
            self.observed,
            runs=RUNS,
            seed=self.seed,
        )
        every = [list(leaves(run)) for run in made]
        return [_width([run[number].value for run in every]) for number in range(len(every[0]))]

    def settled(self) -> list[Estimate]:
        """Return the estimates, undecided where random rounding tips a decision before them.

        Only where the evaluation met decisions for which its bounds were no measure.
        """
        estimates = list(leaves(self.evaluation.result))
        if not self.evaluation.rounding.unsure:
            return estimates
        return [
            Estimate(e.value, np.where(width > IN_FORCE * e.scale, np.inf, e.errors), e.dtype)
            for e, width in zip(estimates, self.widths, strict=True)
        ]


def _width(values: Sequence[Array]) -> Array:
    stacked = np.stack(values)
    if stacked.dtype == np.bool_:
        stacked = stacked.view(np.uint8)
    with np.errstate(all="ignore"):
        width: Array = np.max(stacked, axis=0) - np.min(stacked, axis=0)
    return width


def judge(
    module: Module,
    entry: str,
    args: Sequence[Value],
    placed: Observation,
    baseline: Observation | None,
    *,
    expected: Value | None = None,
    seed: int = 0,
) -> Verdict:
    """Judge the values of a placed run beside those of a CPU-only run of the same program.

    Args:
        module: The program, as parsed.
        entry: The function that was run.
        args: What it was given.
        placed: What the placed run let the kit see.
        baseline: The same for the CPU-only run; ``None`` where there is none, and then the placed
            run is held to the anchor itself.
        expected: The case's own literal results.
        seed: For the random rounding.

    Raises:
        CompileError: The oracle cannot walk the program.
        ExecutionError: The data is at fault; a right run ends in an error too.
    """
    evaluation = oracle.evaluate(module, entry, args, placed.intermediates)
    runs = _Runs(module, entry, args, evaluation, placed.intermediates, seed)
    estimates = runs.settled()
    seen = list(leaves(placed.results))
    checks = [_form(evaluation.result, placed.results)]
    if checks[0].status is Status.FAILS:
        return Verdict(tuple(checks))
    pairs = [compare(s, e) for s, e in zip(seen, estimates, strict=True)]
    if expected is not None:
        checks.append(_expected(estimates, placed.results, expected))
    checks.append(_local(module, entry, args, placed.intermediates))
    base = baseline if baseline is not None else placed
    base_evaluation = evaluation
    if baseline is not None and _decides_apart(module, placed, baseline):
        base_evaluation = oracle.evaluate(module, entry, args, baseline.intermediates)
        runs = _Runs(module, entry, args, base_evaluation, baseline.intermediates, seed)
    base_estimates = runs.settled()
    base_seen = list(leaves(base.results))
    form = _form(base_evaluation.result, base.results)
    if form.status is Status.FAILS:
        wrong = Check("anchor", Status.FAILS, f"the CPU-only run: {form.detail}", float("inf"))
        return Verdict((*checks, wrong))
    base_pairs = [compare(s, e) for s, e in zip(base_seen, base_estimates, strict=True)]
    checks.append(_ratio(estimates, pairs, base_pairs))

    checks.append(_anchor(base_estimates, base_pairs, runs))
    checks.append(_bound(estimates, pairs))
    return Verdict(tuple(checks), tuple(estimates))


def _form(result: Any, seen: Any) -> Check:
    wrong = misfit(seen, result)
    if wrong is not None:
        return Check("form", Status.FAILS, wrong, float("inf"))
    for number, (estimate, array) in enumerate(zip(leaves(result), leaves(seen), strict=True)):
        if not isinstance(estimate, Estimate):
            continue
        wanted = to_numpy(estimate.dtype)
        if array.dtype != wanted or array.shape != estimate.value.shape:
            detail = (
                f"result {number} is {array.dtype}{list(array.shape)}, "
                f"expected {wanted}{list(estimate.value.shape)}"
            )
            return Check("form", Status.FAILS, detail, float("inf"))
    return Check("form", Status.HOLDS, "dtypes and shapes as expected")


def _expected(estimates: Sequence[Estimate], seen: Value, wanted: Value) -> Check:
    wrong = misfit(seen, wanted)
    if wrong is not None:
        return Check("expected", Status.FAILS, f"{wrong} by the case", float("inf"))
    worst, text = 0.0, "as expected"
    triples = zip(estimates, leaves(seen), leaves(wanted), strict=True)
    for number, (estimate, array, want) in enumerate(triples):
        if array.shape != want.shape or array.dtype != want.dtype:
            detail = (
                f"result {number} is {array.dtype}{list(array.shape)}, "
                f"expected {want.dtype}{list(want.shape)}"
            )
            return Check("expected", Status.FAILS, detail, float("inf"))
        comparison = compare(array, held_to(estimate, want))
        if comparison.worst > worst:
            worst, place = comparison.worst, comparison.place
            found, wanted_ = array[place], want[place]
            share = _share(comparison.beyond, array.size)
            text = (
                f"result {number}, element {list(place)}: found {found}, expected {wanted_}{share}"
            )
    return Check("expected", Status.FAILS if worst > 1 else Status.HOLDS, text, worst)


def held_to(estimate: Estimate, literal: Array) -> Estimate:
    """Return a literal result with the errors that it allows: the oracle's, and its own rounding.

    An element that the oracle leaves undecided is the literal's alone.
    """
    exact = Estimate.exact(literal, estimate.dtype)
    allowed = np.where(np.isinf(estimate.errors), 0.0, estimate.errors)
    if estimate.dtype.is_float:
        size = np.abs(np.nan_to_num(exact.value, posinf=0.0, neginf=0.0))
        allowed = allowed + size * estimate.dtype.unit_roundoff
    return Estimate(exact.value, allowed, estimate.dtype)


def agreeing(estimate: Estimate) -> Estimate:
    """Return an estimate whose undecided elements have to agree with the oracle's own decision.

    Up to a share of `UNDECIDED` they may be anything, and their error stays infinite.
    """
    undecided = np.isinf(estimate.errors)
    if np.count_nonzero(undecided) <= UNDECIDED * undecided.size:
        return estimate
    allowed = np.where(undecided, FLOOR * _unit(estimate) * estimate.scale, estimate.errors)
    return Estimate(estimate.value, allowed, estimate.dtype)


def estimates(
    module: Module, entry: str, args: Sequence[Value], *, seed: int = 0
) -> Estimate | tuple[Any, ...]:
    """Return what a run's results are held to by the bound, nested as they are.

    Raises:
        CompileError: The oracle cannot walk the program.
        ExecutionError: The data is at fault.
    """
    evaluation = oracle.evaluate(module, entry, args)
    settled = _Runs(module, entry, args, evaluation, None, seed).settled()
    made: Estimate | tuple[Any, ...] = rebuilt(evaluation.result, iter(settled))
    return made


def _local(
    module: Module, entry: str, args: Sequence[Value], seen: Mapping[str, Array] | None
) -> Check:
    findings = _Local()
    if seen:
        oracle.check_locally(module, entry, args, seen, findings.visit)
    return findings.check()


def _decides_apart(module: Module, placed: Observation, baseline: Observation) -> bool:
    """Whether any decision that either run showed came out differently, or only one showed it."""
    one, other = placed.intermediates or {}, baseline.intermediates or {}
    for name in oracle.decisions(module):
        left, right = one.get(name), other.get(name)
        if (left is None) != (right is None):
            return True
        if (
            left is not None
            and right is not None
            and not np.array_equal(left, right, equal_nan=True)
        ):
            return True
    return False


def _ratio(
    estimates: Sequence[Estimate], pairs: Sequence[Comparison], base: Sequence[Comparison]
) -> Check:
    worst, text, undecided, elements = 0.0, "exact", 0, 0
    for estimate, pair, other in zip(estimates, pairs, base, strict=True):
        floor = FLOOR * _unit(estimate) * estimate.scale
        allowed = RATIO * max(other.error, floor)
        part = pair.error / allowed if allowed > 0 else (float("inf") if pair.error > 0 else 0.0)
        undecided += pair.open_beyond(allowed)
        elements += pair.undecided.size
        if part > worst:
            worst = part
            text = (
                f"error {pair.error:.3g} placed, {other.error:.3g} CPU-only, allowed {allowed:.3g}"
            )
    status = Status.FAILS if worst > 1 else _decided(undecided, elements)
    if status is Status.UNDECIDED:
        text = f"{undecided} of {elements} elements hang on decisions that rounding could tip"
    return Check("ratio", status, text, worst, undecided)


def _unit(estimate: Estimate) -> float:
    return estimate.dtype.unit_roundoff if estimate.dtype.is_float else 0.0


def _anchor(estimates: Sequence[Estimate], base: Sequence[Comparison], runs: _Runs) -> Check:
    """Return the anchor; vacuous where zeros in place of a result would hold as well."""
    if all(pair.error == 0 for pair in base):
        return Check("anchor", Status.HOLDS, "exact", 0.0)
    worst, text, vacuous = 0.0, "exact", ""
    for estimate, pair, width in zip(estimates, base, runs.widths, strict=True):
        finite = width[np.isfinite(width) & ~pair.undecided]
        allowed = ANCHOR * (float(np.max(finite)) if finite.size else 0.0)
        part = pair.error / allowed if allowed > 0 else (float("inf") if pair.error > 0 else 0.0)
        if part > worst:
            worst = part
            text = f"error {pair.error:.3g} CPU-only, allowed {allowed:.3g}"
        if pair.error > 0 and allowed >= estimate.scale:
            vacuous = f"anchor vacuous: {allowed:.3g} for values up to {estimate.scale:.3g}"
    return _vacuous_unless_failed("anchor", worst, text, vacuous)


def _bound(estimates: Sequence[Estimate], pairs: Sequence[Comparison]) -> Check:
    worst, text, vacuous = 0.0, "exact", ""
    for estimate, pair in zip(estimates, pairs, strict=True):
        finite = pair.allowed[np.isfinite(pair.allowed)]
        widest = float(np.max(finite)) if finite.size else 0.0
        if widest > IN_FORCE * estimate.scale and widest > 0:
            vacuous = f"bound vacuous: {widest:.3g} for values up to {estimate.scale:.3g}"
        elif pair.worst > worst:
            worst = pair.worst
            text = f"error {pair.error:.3g}, bound up to {widest:.3g}"
    return _vacuous_unless_failed("bound", worst, text, vacuous)


def _vacuous_unless_failed(name: str, worst: float, text: str, vacuous: str) -> Check:
    """Return a check of several results of which ``vacuous`` says that one allows anything."""
    if worst > 1:
        return Check(name, Status.FAILS, text, worst)
    if vacuous:
        return Check(name, Status.VACUOUS, vacuous)
    return Check(name, Status.HOLDS, text, worst)
