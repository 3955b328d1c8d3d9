"""A waiver holds for its items, stage and devices until its day; what is not true is told."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from hettest.errors import UsageError
from hettest.levels.reading import blocker_of
from hettest.outcome import Clause, Outcome, Record, Status, headline
from hettest.waivers import Waiver, Waivers, load, problems
from hettest.waivers.loader import parse
from hettest.waivers.model import STAGES

ROOT = Path(__file__).parents[4]
TODAY = date(2026, 11, 30)
LATER = date(2027, 3, 1)
ITEM = "ops/max/nan[plain,host=cpu:0,accel=cuda:1,policy=copy]"
WAIVER = Waiver("ops/max/*", "values", "permanent", "NaN is lost", "me", LATER)


def record(*failed: str, outcome: Outcome = Outcome.FAILED, stage: str = "") -> Record:
    clauses = tuple(Clause(name, Status.FAILED, "wrong") for name in failed)
    return Record(ITEM, outcome, "wrong", 2, clauses, stage, case="ops/max/nan")


def applied(found: Record, *waivers: Waiver) -> Record:
    return Waivers(waivers).applied(found, TODAY)


def told(found: Record, *waivers: Waiver) -> list[str]:
    return list(problems(Waivers(waivers), [applied(found, *waivers)], ["ops/max/nan"], TODAY))


@pytest.mark.parametrize(
    "pattern",
    [
        "ops/max/*",
        "ops/max/nan",
        ITEM,
        "ops/max/nan[*",
        "ops/m?x/nan[plain,*",
    ],
)
def test_a_failure_of_a_named_item_is_waived_with_all_that_is_known(pattern: str) -> None:
    waiver = replace(WAIVER, case=pattern, issue="a/b#1")

    ended = applied(record("values"), waiver)

    assert ended.outcome is Outcome.WAIVED
    assert ended.waiver == "permanent: NaN is lost (me, a/b#1, until 2027-03-01)"
    assert ended.reason == "wrong"
    assert told(record("values"), waiver) == []


@pytest.mark.parametrize("pattern", ["ops/min/*", "max/*", "ops/max/nan[other,*", "OPS/max/*"])
def test_an_item_that_is_not_named_stays_failed(pattern: str) -> None:
    assert applied(record("values"), replace(WAIVER, case=pattern)).outcome is Outcome.FAILED


def test_each_clause_that_failed_needs_a_waiver() -> None:
    both = record("values", "copies")

    partly = applied(both, WAIVER)
    assert partly.outcome is Outcome.FAILED
    assert partly.reason == "copies: wrong (waived: values; not waived: copies)"
    waived = applied(both, WAIVER, replace(WAIVER, stage="copies", reason="copies twice"))
    assert waived.outcome is Outcome.WAIVED
    assert "NaN is lost" in waived.waiver
    assert "copies twice" in waived.waiver


CLAUSES = ("values", "arguments", "arrivals", "placement", "copies", "moved", "memory")


@pytest.mark.parametrize("waived", CLAUSES)
@pytest.mark.parametrize("other", CLAUSES)
def test_of_two_clauses_the_one_without_a_waiver_is_the_failure(waived: str, other: str) -> None:
    if waived == other:
        return
    both = tuple(Clause(name, Status.FAILED, f"{name} is off\nby far") for name in (waived, other))
    text = f"{ITEM}: largest\n  {waived} FAILED: off\n    by far\n  {other} FAILED: off"
    found = replace(record(), clauses=both, reason=headline(both), text=text)

    partly = applied(found, replace(WAIVER, stage=waived))

    assert partly.reason == f"{other}: {other} is off (waived: {waived}; not waived: {other})"
    assert [c.status for c in partly.clauses] == [Status.WAIVED, Status.FAILED]
    assert partly.text == text.replace(f"{waived} FAILED", f"{waived} waived")
    assert blocker_of(partly).reason == partly.reason
    assert blocker_of(partly).page == blocker_of(replace(found, clauses=both[1:])).page
    assert told(found, replace(WAIVER, stage=waived)) == []
    assert Record.from_json(partly.to_json()) == partly


@pytest.mark.parametrize("stage", ["compile", "run", "crash", "timeout", "backend"])
def test_what_ends_outside_the_clauses_is_waived_by_its_stage(stage: str) -> None:
    outcome = Outcome.CRASHED if stage in ("crash", "timeout") else Outcome.FAILED
    found = record("diagnostics", outcome=outcome, stage=stage)

    assert applied(found, replace(WAIVER, stage=stage)).outcome is Outcome.WAIVED
    assert applied(found, WAIVER).outcome is outcome


def test_a_fault_of_the_kit_is_never_waived() -> None:
    found = record(stage="kit")

    assert applied(found, replace(WAIVER, stage="backend")).outcome is Outcome.FAILED
    with pytest.raises(UsageError, match="found 'kit'"):
        parse(_written(stage="kit"), "w.toml")


@pytest.mark.parametrize(
    ("devices", "waived"),
    [
        ("accel=cuda:*", True),
        ("accel=cuda:1, host=cpu:0", True),
        ("accel=sim:*", False),
        ("other=cuda:*", False),
        ("accel=cuda:*,host=cpu:1", False),
    ],
)
def test_it_holds_for_its_devices_only(devices: str, waived: bool) -> None:
    ended = applied(record("values"), replace(WAIVER, devices=devices))

    assert (ended.outcome is Outcome.WAIVED) == waived


def test_what_passes_or_is_unsupported_is_left_as_it_is() -> None:
    for outcome in (Outcome.PASSED, Outcome.UNSUPPORTED, Outcome.NOT_RUN):
        found = record(outcome=outcome)
        assert applied(found, WAIVER) is found


def test_its_last_day_is_the_day_it_names() -> None:
    last = replace(WAIVER, expires=TODAY)
    over = replace(WAIVER, expires=date(2026, 11, 29), file="w.toml", line=3)

    assert applied(record("values"), last).outcome is Outcome.WAIVED
    assert applied(record("values"), over).outcome is Outcome.FAILED
    (problem,) = told(record("values"), over)
    assert problem.startswith("w.toml:3: the waiver of values for ops/max/* expired on 2026-11-29")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (record(outcome=Outcome.PASSED), "is not needed any more: take it out (1 passed)"),
        (record("copies"), "matches no failure: 1 failed at copies"),
        (record(outcome=Outcome.UNSUPPORTED), "matches no failure: 1 unsupported"),
    ],
)
def test_one_that_waives_nothing_is_told(found: Record, message: str) -> None:
    (problem,) = told(found, WAIVER)

    assert problem.endswith(message)


def test_one_whose_items_were_not_run_may_still_be_needed() -> None:
    assert told(record(outcome=Outcome.NOT_RUN), WAIVER) == []


def test_one_whose_case_was_left_out_of_the_run_is_well() -> None:
    waivers = Waivers([replace(WAIVER, case="ops/min/*")])

    assert list(problems(waivers, [record()], ["ops/max/nan", "ops/min/nan"], TODAY)) == []
    (problem,) = problems(waivers, [record()], ["ops/max/nan"], TODAY)
    assert "matches no case" in problem


def test_a_report_that_is_read_again_gives_the_same_problems() -> None:
    ended = Record.from_json(applied(record(stage="timeout"), WAIVER).to_json())

    assert ended.stage == "timeout"
    assert list(problems(Waivers([WAIVER]), [ended], ["ops/max/nan"], TODAY))


def _written(**changes: str) -> str:
    keys = {
        "case": '"ops/max/*"',
        "stage": '"values"',
        "kind": '"permanent"',
        "reason": '"NaN is lost"',
        "owner": '"me"',
        "expires": "2027-03-01",
    }
    keys |= {name: value if name == "expires" else f'"{value}"' for name, value in changes.items()}
    lines = [f"{name} = {value}" for name, value in keys.items() if value != '"-"']
    return "\n".join(["format = 1", "", "[[waiver]]", *lines, ""])


def test_a_file_is_read_with_the_lines_of_its_waivers(tmp_path: Path) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(_written())

    (found,) = load(path).entries

    assert found == replace(WAIVER, file=str(path), line=3)
    assert found.place == f"{path}:3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "w.toml: format: is missing, expected format = 1"),
        ("format = 2", "w.toml:1: format: found 2, expected format = 1"),
        ("format = 1\nwaivers = 1", "w.toml:2: waivers: is no key of this table; did you mean wai"),
        ("format = 1\nwaiver = 1", "w.toml:2: waiver: expected tables, each headed [[waiver]]"),
        ("format = 1\n[[waiver]\n", "w.toml:2: "),
        (_written(stage="value"), "w.toml:5: waiver[0].stage: found 'value', expected one of val"),
        (_written(kind="always"), "w.toml:6: waiver[0].kind: found 'always', expected one of perm"),
        (_written(reason=" "), "w.toml:7: waiver[0].reason: is empty"),
        (_written(reason="-"), "w.toml:3: waiver[0].reason: is missing"),
        (_written(owner="-"), "w.toml:3: waiver[0].owner: is missing"),
        (_written(kind="pending"), "waiver[0].issue: is missing: a pending waiver names the issue"),
        (
            _written(expires='"2027-03-01"'),
            "waiver[0].expires: found '2027-03-01', expected a date",
        ),
        (_written(expires="2027-03-01T00:00:00"), "w.toml:9: waiver[0].expires: found datetime."),
        (_written(devices="cuda"), "w.toml:10: waiver[0].devices: found 'cuda', expected role=dev"),
        (
            _written(caes="x"),
            "w.toml:10: waiver[0].caes: is no key of this table; did you mean cas",
        ),
        (
            _written() + _written().partition("\n")[2],
            "waiver[1]: has the case, stage and devices of",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text, "w.toml")

    assert message in str(error.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(UsageError) as error:
        parse(_written(stage="value", kind="always"), "w.toml")

    assert len(str(error.value).splitlines()) == 2


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no-such\.toml: the waivers cannot be read"):
        load(tmp_path / "no-such.toml")


def test_every_clause_that_the_kit_checks_can_be_waived() -> None:
    source = "".join(path.read_text() for path in (ROOT / "hettest/expect").glob("*.py"))

    found = set(re.findall(r'Clause\(\s*"([a-z]+)"', source))
    assert len(found) > 5
    assert found <= set(STAGES)
