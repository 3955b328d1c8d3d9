"""Run again, an item ends as reported, or it is named, and a flaky one is called so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hettest.case.expansion import Item, expand
from hettest.conformance import running
from hettest.conformance.rerunning import Deviation, deviations, sample
from hettest.conformance.verifying import ran
from hettest.corpus import own_cases
from hettest.errors import UsageError
from hettest.levels.freeze import PAIR
from hettest.levels.profile import Profile
from hettest.outcome import Clause, Evidence, Outcome, Record, Status
from hettest.report import ReportContent
from tests.unit.hettest.conformance.conftest import CASES, FAKE, options, run


def item() -> Item:
    (case, *_) = (case for case in own_cases() if case.id == CASES[3])
    return expand(case, PAIR)[0]


def ending(*outcomes: Outcome) -> Callable[[Item], Record]:
    ends = iter(outcomes)
    return lambda item: Record(item.id, next(ends), "values: wrong")


def test_a_sample_is_chosen_by_its_seed() -> None:
    numbers = range(1000)

    assert sample(numbers, 5, seed=1) == sample(numbers, 5, seed=1)
    assert sample(numbers, 5, seed=1) != sample(numbers, 5, seed=2)
    assert len(sample(numbers, 5, seed=1)) == 50
    assert sample(numbers, 5, seed=1) == tuple(sorted(sample(numbers, 5, seed=1)))
    assert len(sample(range(3), 0.1, seed=1)) == 1
    assert sample(range(0), 5, seed=1) == ()


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ([Outcome.PASSED], None),
        ([Outcome.FAILED] * 3, "does not reproduce: reported passed, now failed, failed, failed"),
        (
            [Outcome.FAILED, Outcome.PASSED, Outcome.PASSED],
            "is flaky: reported passed, now failed, passed, passed",
        ),
    ],
)
def test_what_ends_otherwise_is_run_again(now: list[Outcome], told: str | None) -> None:
    one = item()

    found = list(deviations([(Record(one.id, Outcome.PASSED), one)], ending(*now)))

    assert [str(deviation) for deviation in found] == (
        [] if told is None else [f"{one.id}: {told}: values: wrong"]
    )


def test_other_clauses_and_evidence_do_not_reproduce() -> None:
    one = item()
    better = Clause("copies", Status.PROVEN, "", evidence=Evidence.CAUSED)
    clauses = (replace(better, evidence=Evidence.REPORTED),)
    now = Record(one.id, Outcome.PASSED, clauses=clauses)

    found = list(deviations([(replace(now, clauses=(better,)), one)], lambda item: now))

    ended = ", ".join(["passed with copies proven (reported)"] * 3)
    told = f"does not reproduce: reported passed with copies proven (caused), now {ended}"
    assert [str(deviation) for deviation in found] == [f"{one.id}: {told}"]
    assert list(deviations([(now, one)], lambda item: replace(now))) == []


def test_an_unsupported_item_without_clauses_is_run_again() -> None:
    record = Record("x", Outcome.UNSUPPORTED, case="x", lacks=("op:zzz",))

    assert ran(record)
    assert not ran(replace(record, outcome=Outcome.NOT_RUN))


def test_the_reference_ends_as_it_reports(content: ReportContent) -> None:
    assert list(running.rerun(content, options("reference_vm"), content.records, list)) == []


def test_a_lie_does_not_reproduce(
    profile: Profile, tmp_path: Path, forge: Callable[[ReportContent, Path], Path]
) -> None:
    """The report states that a backend passed which copies twice; its digests and levels fit."""
    backend = f"{FAKE}:copy_twice"
    true = run(profile, backend)
    records = tuple(replace(r, outcome=Outcome.PASSED, reason="", text="") for r in true.records)
    counts = {o: len(records) if o is Outcome.PASSED else 0 for o in Outcome}
    lying = replace(true, records=records, counts=counts)

    found = list(running.rerun(lying, options(backend), records, list))

    assert found
    assert all(isinstance(d, Deviation) and not d.is_flaky for d in found)
    assert all("placement/shared_input" in str(d) for d in found)


def test_another_backend_declares_other_words(content: ReportContent) -> None:
    *_, last = running.rerun(content, options(f"{FAKE}:Backend"), content.records[:1], list)

    assert isinstance(last, str)
    assert last.startswith("the backend declares other words than the report says: ")


def test_an_item_of_another_corpus_cannot_be_run(content: ReportContent) -> None:
    strange = Record("no/such[plain]", Outcome.PASSED, case="no/such")

    with pytest.raises(UsageError, match=r"no/such\[plain\] is no item of this installation"):
        list(running.rerun(content, options("reference_vm"), [strange], list))
