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

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hettest.backend.protocol import Observation
from hettest.judge.compare import Comparison, compare, largest
from hettest.judge.limits import ANCHOR, FLOOR, IN_FORCE, RATIO, UNDECIDED, decided, share, unit
from hettest.judge.local import check_local
from hettest.judge.nesting import leaves, misfit, rebuilt
from hettest.judge.spread import Runs
from hettest.judge.verdict import Check, Status, Verdict
from hettest.language import Estimate, Module, oracle, to_numpy

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = "Array | str | tuple[Value, ...]"


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
    runs = Runs(module, entry, args, evaluation, placed.intermediates, seed)
    estimates = runs.settled()
    seen = list(leaves(placed.results))
    checks = [_form(evaluation.result, placed.results)]
    if checks[0].status is Status.FAILS:
        return Verdict(tuple(checks))
    pairs = [compare(s, e) for s, e in zip(seen, estimates, strict=True)]
    if expected is not None:
        checks.append(_expected(estimates, placed.results, expected))
    checks.append(check_local(module, entry, args, placed.intermediates))
    base = baseline if baseline is not None else placed
    base_evaluation = evaluation
    if baseline is not None and _decides_apart(module, placed, baseline):
        base_evaluation = oracle.evaluate(module, entry, args, baseline.intermediates)
        runs = Runs(module, entry, args, base_evaluation, baseline.intermediates, seed)
    base_estimates = runs.settled()
    base_seen = list(leaves(base.results))
    form = _form(base_evaluation.result, base.results)
    if form.status is Status.FAILS:
        wrong = Check("anchor", Status.FAILS, f"the CPU-only run: {form.detail}", float("inf"))
        return Verdict((*checks, wrong))
    base_pairs = [compare(s, e) for s, e in zip(base_seen, base_estimates, strict=True)]
    checks.append(_ratio(estimates, pairs, base_pairs, runs))
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
            others = share(comparison.beyond, array.size)
            text = (
                f"result {number}, element {list(place)}: found {found}, expected {wanted_}{others}"
            )
    return Check("expected", Status.FAILS if worst > 1 else Status.HOLDS, text, worst)


def held_to(estimate: Estimate, literal: Array) -> Estimate:
    """Return a literal result with the errors that it allows: the oracle's, and its own rounding.

    An element that the oracle leaves undecided is the literal's alone, and so are decisions.
    """
    exact = Estimate.exact(literal, estimate.dtype)
    allowed = np.where(np.isinf(estimate.errors), 0.0, estimate.errors)
    if estimate.jump is not None:
        allowed = np.maximum(allowed - np.nan_to_num(estimate.jump, posinf=np.inf), 0.0)
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
    allowed = np.where(undecided, FLOOR * unit(estimate) * estimate.scale, estimate.errors)
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
    settled = Runs(module, entry, args, evaluation, None, seed).settled()
    made: Estimate | tuple[Any, ...] = rebuilt(evaluation.result, iter(settled))
    return made


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
    estimates: Sequence[Estimate],
    pairs: Sequence[Comparison],
    base: Sequence[Comparison],
    runs: Runs,
) -> Check:
    worst, text, undecided, elements = 0.0, "exact", 0, 0
    for number, (estimate, pair, other) in enumerate(zip(estimates, pairs, base, strict=True)):
        floor = FLOOR * unit(estimate) * estimate.scale
        if pair.error > RATIO * max(other.error, floor) and runs.is_unsure:
            floor = max(floor, _bounded_width(pair, runs.widths[number]))
        allowed = RATIO * max(other.error, floor)
        part = _part(pair.error, allowed)
        undecided += pair.open_beyond(allowed)
        elements += pair.undecided.size
        if part > worst:
            worst = part
            text = (
                f"error {pair.error:.3g} placed, {other.error:.3g} CPU-only, allowed {allowed:.3g}"
            )
    status = Status.FAILS if worst > 1 else decided(undecided, elements)
    if status is Status.UNDECIDED:
        text = f"{undecided} of {elements} elements hang on decisions that rounding could tip"
    return Check("ratio", status, text, worst, undecided)


def _part(error: float, allowed: float) -> float:
    """Return an error as a part of what is allowed."""
    if allowed > 0:
        return error / allowed
    return float("inf") if error > 0 else 0.0


def _bounded_width(pair: Comparison, width: Array) -> float:
    """Return how far random rounding moves what hangs on no decision, or failing that, anything."""
    known = np.isfinite(width) & ~pair.undecided
    calm = known if pair.jump is None else known & (pair.jump == 0)
    return largest(width[calm if np.any(calm) else known])


def _anchor(estimates: Sequence[Estimate], base: Sequence[Comparison], runs: Runs) -> Check:
    """Return the anchor; vacuous where zeros in place of a result would hold as well.

    What random rounding brings to infinity or to NaN has no width to be held to.
    """
    worst, text, vacuous = 0.0, "exact", ""
    for number, (estimate, pair) in enumerate(zip(estimates, base, strict=True)):
        if not np.any(pair.difference):
            continue
        allowed, error = 0.0, pair.error
        if error > 0:
            width = runs.widths[number]
            error = largest(pair.excess[np.isfinite(width)])
            if estimate.dtype.is_float or runs.is_unsure:
                allowed = ANCHOR * _bounded_width(pair, width)
            open_ = np.count_nonzero(np.isinf(width) & (pair.excess > 0))
            if open_ > UNDECIDED * width.size:
                vacuous = f"anchor vacuous: no width holds {open_} of {width.size} elements"
        part = _part(error, allowed)
        if part > worst:
            worst = part
            text = f"error {error:.3g} CPU-only, allowed {allowed:.3g}"
        reach = allowed + _jumps(pair)
        if np.all(pair.undecided):
            vacuous = "anchor vacuous: every element hangs on decisions that rounding could tip"
        elif reach >= estimate.scale and reach > 0:
            vacuous = f"anchor vacuous: {reach:.3g} for values up to {estimate.scale:.3g}"
    return _vacuous_unless_failed("anchor", worst, text, vacuous)


def _jumps(pair: Comparison) -> float:
    """Return the most that decisions may cause in an element that is decided."""
    return 0.0 if pair.jump is None else largest(pair.jump[~pair.undecided & ~np.isinf(pair.jump)])


def _bound(estimates: Sequence[Estimate], pairs: Sequence[Comparison]) -> Check:
    worst, text, vacuous = 0.0, "exact", ""
    for estimate, pair in zip(estimates, pairs, strict=True):
        widest = _widest(estimate, pair)
        if np.any(pair.difference) and np.all(pair.undecided):
            vacuous = "bound vacuous: every element hangs on decisions that rounding could tip"
        elif widest > IN_FORCE * estimate.scale and widest > 0:
            vacuous = f"bound vacuous: {widest:.3g} for values up to {estimate.scale:.3g}"
        elif pair.worst > worst:
            worst = pair.worst
            text = (
                f"error {largest(pair.difference[~pair.undecided]):.3g}, bound up to {widest:.3g}"
            )
    return _vacuous_unless_failed("bound", worst, text, vacuous)


def _widest(estimate: Estimate, pair: Comparison) -> float:
    """Return the widest bound; a few that decisions alone make wide do not count."""
    allowed = pair.allowed[~pair.undecided]
    if pair.jump is not None:
        calm = (pair.jump <= IN_FORCE * estimate.scale)[~pair.undecided]
        if calm.size - np.count_nonzero(calm) <= UNDECIDED * pair.allowed.size:
            allowed = allowed[calm]
    return largest(allowed)


def _vacuous_unless_failed(name: str, worst: float, text: str, vacuous: str) -> Check:
    """Return a check of several results of which ``vacuous`` says that one allows anything."""
    if worst > 1:
        return Check(name, Status.FAILS, text, worst)
    if vacuous:
        return Check(name, Status.VACUOUS, vacuous)
    return Check(name, Status.HOLDS, text, worst)
