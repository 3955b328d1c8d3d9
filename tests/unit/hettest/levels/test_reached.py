"""A level is reached if its words are declared and its items passed, and nothing else counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hettest.levels.profile import Step
from hettest.levels.standing import Reach, Standing
from hettest.outcome import Clause, Evidence, Measure, Outcome, Record, Status
from tests.unit.hettest.levels.small import PROFILE, WORDS, ids, judged, record

ALONE = "ops/alone[plain,default=sim:0]"
LAST = "placement/apart[plain,host=cpu:0,accel=sim:0,policy=copy]"


def run(folder: Path, *but: Record) -> list[Record]:
    """Return records of all items; they passed, but for those given."""
    found = {one: record(one) for one in ids(folder)}
    return list({**found, **{r.id: r for r in but}}.values())


def test_the_small_profile_has_items_on_each_device(tmp_path: Path) -> None:
    assert ids(tmp_path) == ["ops/alone[plain,default=cpu:0]", ALONE, LAST]


def test_words_declared_and_items_passed_reach_the_top(tmp_path: Path) -> None:
    found = judged(tmp_path, run(tmp_path))

    assert found.level == 3
    assert found.next == ()
    assert [(r.items, r.passed, r.selected) for r in found.rungs] == [
        (0, 0, 0),
        (2, 2, 2),
        (1, 1, 1),
    ]


def test_of_a_backend_that_did_not_open_no_word_is_missed(tmp_path: Path) -> None:
    crashed = [record(one, Outcome.CRASHED) for one in ids(tmp_path)]

    found = judged(tmp_path, crashed, claims=(), unopened="it raised OSError: no driver")

    assert found.level is None
    assert found.rungs[0].undeclared == ()
    assert found.rungs[0].reason == "the backend did not open: it raised OSError: no driver"


def test_declaring_nothing_reaches_nothing(tmp_path: Path) -> None:
    found = judged(tmp_path, run(tmp_path), claims=())

    assert found.level is None
    assert found.rungs[0].undeclared == ("device:cpu", "device:sim", "input:hir or input:onnx")


@pytest.mark.parametrize(
    ("word", "level", "told"),
    [
        ("device:*", None, "device:cpu, device:sim"),
        ("input:hir", None, "input:hir or input:onnx"),
        ("op:add", 0, "op:add:f32"),
        ("observe:placement", 2, "observe:placement"),
        ("dtype:f32", 3, None),
    ],
)
def test_a_word_is_due_from_its_level_on(
    tmp_path: Path, word: str, level: int | None, told: str | None
) -> None:
    found = judged(tmp_path, run(tmp_path), claims=WORDS - {word})

    assert found.level == level
    if told is not None:
        assert found.next[0].reason.startswith(
            f"not declared: {told}; see hettest explain protocol#capabilities"
        )


@pytest.mark.parametrize(
    ("record_", "told"),
    [
        (record(ALONE, Outcome.FAILED, reason="values: wrong"), "failed: values: wrong"),
        (record(ALONE, Outcome.CRASHED, reason="ValueError"), "crashed: ValueError"),
        (record(ALONE, Outcome.WAIVED, waiver="pending: NaN (me)"), "waived: pending: NaN (me)"),
        (record(ALONE, Outcome.NOT_RUN, reason="no driver"), "not run: no driver"),
        (
            record(
                ALONE, Outcome.UNSUPPORTED, reason="not claimed: op:add:f32", lacks=("op:add:f32",)
            ),
            "unsupported: not claimed: op:add:f32",
        ),
        (
            record(ALONE, Outcome.UNSUPPORTED, reason="not claimed: values", lacks=("values",)),
            "unsupported: not claimed: values",
        ),
        (
            record(
                ALONE,
                clauses=(
                    Clause("values", Status.PROVEN, "", measures=(Measure("ratio", "undecided"),)),
                ),
            ),
            "passed",
        ),
    ],
)
def test_what_did_not_pass_blocks_and_is_named(tmp_path: Path, record_: Record, told: str) -> None:
    found = judged(tmp_path, run(tmp_path, record_))

    assert found.level == 0
    (rung,) = found.next
    assert rung.name == "L2"
    assert rung.blocker is not None
    assert rung.blocker.item == ALONE
    assert f"{ALONE} {told}" in rung.reason
    assert found.rungs[2].reason == "L2 is blocked"


def test_unsupported_for_a_word_of_none_of_the_levels_is_excused(tmp_path: Path) -> None:
    other = record(ALONE, Outcome.UNSUPPORTED, lacks=("op:det", "op:add:f32"))

    found = judged(tmp_path, run(tmp_path, other))

    assert found.level == 3
    assert (found.rungs[1].passed, found.rungs[1].excused) == (1, 1)


def test_one_of_a_choice_of_words_excuses_the_others(tmp_path: Path) -> None:
    refused = record(ALONE, Outcome.UNSUPPORTED, lacks=("input:hir (what is refused is the text)",))

    assert judged(tmp_path, run(tmp_path, refused)).level == 3


def test_a_level_of_which_nothing_passed_is_not_reached(tmp_path: Path) -> None:
    lacking = [record(one, Outcome.UNSUPPORTED, lacks=("op:det",)) for one in ids(tmp_path)]

    found = judged(tmp_path, lacking)

    assert found.level == 0
    assert found.next[0].reason == "no item of L2 passed; all 2 need words not declared"


def test_a_part_of_the_items_is_not_judged(tmp_path: Path) -> None:
    found = judged(tmp_path, [record(ALONE)])

    assert found.next[0].reach is Reach.NOT_JUDGED
    assert found.next[0].reason == "only 1 of 2 items of L2 were selected"


def test_a_failure_blocks_even_where_not_all_items_were_selected(tmp_path: Path) -> None:
    found = judged(tmp_path, [record(ALONE, Outcome.FAILED)])

    assert found.next[0].reach is Reach.BLOCKED


def test_too_few_devices_leave_a_level_unjudged(tmp_path: Path) -> None:
    one = ("cpu:0",)
    records = [record(i) for i in ids(tmp_path, one)]

    found = judged(tmp_path, records, devices=one)

    assert found.level == 2
    assert found.next[0].reason == "1 case of L3 needs more devices than were named"


def test_one_device_is_enough_up_to_l2(tmp_path: Path) -> None:
    one = ("cpu:0",)
    below = Step(2, None, (), {"ops/alone": ("plain",), "placement/apart": ("plain,policy=copy",)})
    profile = replace(PROFILE, steps=(below,))
    records = [record("ops/alone[plain,default=cpu:0]")]

    assert judged(tmp_path, records, devices=one, profile=profile).level == 2


def test_a_failure_is_named_before_what_was_not_run(tmp_path: Path) -> None:
    first = record("ops/alone[plain,default=cpu:0]", Outcome.NOT_RUN)
    second = record(ALONE, Outcome.FAILED)

    found = judged(tmp_path, run(tmp_path, first, second))

    assert found.next[0].blocker is not None
    assert found.next[0].blocker.item == ALONE
    assert found.next[0].blocking == 2


def test_what_to_read_follows_the_clause_that_failed(tmp_path: Path) -> None:
    moved = Clause("moved", Status.FAILED, "found 4, expected 3")
    failed = record(LAST, Outcome.FAILED, reason="moved: found 4", clauses=(moved,))

    found = judged(tmp_path, run(tmp_path, failed))

    blocker = found.next[0].blocker
    assert blocker is not None
    assert (blocker.clause, blocker.page) == ("copies.apart", "docs/reference/planning.md")


def test_groups_are_reached_each_on_its_own(tmp_path: Path) -> None:
    steps = (
        Step(5, "shapes", (("shape:symbolic",),), {"ops/alone": ("plain",)}),
        Step(5, "calls", (), {"placement/apart": ("plain,policy=copy",)}),
    )
    profile = replace(PROFILE, steps=steps)

    found = judged(tmp_path, run(tmp_path), profile=profile)

    assert found.level is None
    assert [rung.name for rung in found.groups] == ["L5 calls"]
    assert [rung.name for rung in found.next] == ["L5 shapes"]


def test_the_weakest_evidence_from_l3_on_is_told(tmp_path: Path) -> None:
    def clause(name: str, evidence: Evidence | None) -> Clause:
        return Clause(name, Status.PROVEN, "", evidence=evidence)

    strong = (clause("placement", Evidence.CAUSED), clause("copies", Evidence.METERED))
    weak = (clause("placement", Evidence.UNOBSERVED), clause("copies", Evidence.UNOBSERVED))
    last = record(LAST, clauses=(*strong, clause("moved", Evidence.REPORTED)))

    found = judged(tmp_path, run(tmp_path, record(ALONE, clauses=weak), last))

    assert found.evidence == {"placement": "caused", "copies": "reported"}


def test_a_standing_reads_back(tmp_path: Path) -> None:
    found = judged(tmp_path, run(tmp_path, record(ALONE, Outcome.FAILED)))

    assert Standing.from_json(found.to_json()) == found
