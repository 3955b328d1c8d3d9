"""What became worse between two reports is told from what became better."""

from __future__ import annotations

import pytest

from hettest.levels.standing import Reach
from hettest.outcome import Outcome, Record
from hettest.report.changes import changes
from tests.unit.hettest.report.made import content, core, rung


def one(outcome: Outcome | None, waiver: str = "") -> list[Record]:
    return [] if outcome is None else [Record("a/b[x]", outcome, case="a/b", waiver=waiver)]


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        (Outcome.PASSED, Outcome.FAILED, True),
        (Outcome.PASSED, Outcome.UNSUPPORTED, True),
        (Outcome.PASSED, Outcome.WAIVED, True),
        (Outcome.FAILED, Outcome.CRASHED, True),
        (Outcome.FAILED, Outcome.PASSED, False),
        (Outcome.NOT_RUN, Outcome.PASSED, False),
        (Outcome.PASSED, None, True),
        (Outcome.FAILED, None, False),
        (None, Outcome.FAILED, True),
        (None, Outcome.PASSED, False),
    ],
)
def test_outcomes_have_an_order(before: Outcome | None, after: Outcome | None, worse: bool) -> None:
    (found,) = changes(content(one(before)), content(one(after)))

    assert (found.about, found.worse) == ("item", worse)


def test_a_run_like_the_former_has_no_changes() -> None:
    assert changes(content(one(Outcome.PASSED)), content(one(Outcome.PASSED))) == ()


def test_a_lost_level_is_worse_and_a_gained_one_is_not() -> None:
    low = content([], standings=(core(rung(0, Reach.REACHED), rung(1, Reach.BLOCKED)),))
    high = content([], standings=(core(rung(0, Reach.REACHED), rung(1, Reach.REACHED)),))

    (lost,), (gained,) = changes(high, low), changes(low, high)

    assert (str(lost), lost.worse) == ("core@1: L1 -> L0 (worse)", True)
    assert not gained.worse


def test_a_new_waiver_is_worse_and_versions_are_told() -> None:
    before = content(one(Outcome.WAIVED), environment={"numpy": "1"}, suite={"sha256": "0" * 64})
    after = content(
        one(Outcome.WAIVED, "permanent: no (me)"),
        environment={"numpy": "2"},
        suite={"sha256": "1" * 64},
    )

    found = [str(change) for change in changes(before, after)]

    assert found == [
        "permanent: no (me): absent -> in use (worse)",
        "version numpy: 1 -> 2",
        "suite sha256: 000000000000 -> 111111111111",
    ]
