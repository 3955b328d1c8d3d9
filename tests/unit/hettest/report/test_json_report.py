"""A JSON report says all that other forms show, reads back, and says where it is malformed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hettest.levels.coverage import Cell, Coverage, Part
from hettest.levels.standing import Reach
from hettest.options import ENDINGS
from hettest.outcome import Outcome, Record
from hettest.report import FORMATS, ReportContent
from hettest.report.json_report import SCHEMA, document, read, render
from tests.unit.hettest.report.made import content, core, rung


def whole() -> ReportContent:
    return content(
        [
            Record("a/b[x]", Outcome.PASSED, level=1, case="a/b"),
            Record("a/b[y]", Outcome.WAIVED, "values", 1, case="a/b", waiver="pending: NaN (me)"),
        ],
        claims=("op:add",),
        standings=(core(rung(0, Reach.REACHED), rung(1, Reach.BLOCKED, "x"), placement="caused"),),
        coverage=Coverage(
            clauses=Part(("a",), gaps=("b",)), matrix=(Cell("add", "f32", "c", "passed", 1),)
        ),
        problems=("expired",),
        partial="a sample",
        seed=7,
        expected=("a/b[x]", "a/b[z]"),
        expected_file="expected-cpu.txt",
        packages={"hettest": "0" * 64},
        suite={"files": "1"},
    )


def test_a_whole_report_keeps_the_schema_and_reads_back() -> None:
    made = whole()

    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document(made))
    again = read(render(made))

    for name in (
        "claims",
        "standings",
        "coverage",
        "problems",
        "partial",
        "seed",
        "packages",
        "suite",
    ):
        assert getattr(again, name) == getattr(made, name) or list(getattr(again, name)) == list(
            getattr(made, name)
        )
    assert document(again) == document(made)
    assert document(made)["waivers"] == [{"waiver": "pending: NaN (me)", "items": ["a/b[y]"]}]


def test_a_report_of_before_levels_is_still_read() -> None:
    data = document(whole())
    for name in ("claims", "levels", "coverage", "problems", "waivers", "partial", "seed"):
        del data[name]

    assert read(json.dumps(data)).standings == ()


def broken(path: list[Any], value: Any) -> str:
    data: Any = document(whole())
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "line 1: found no JSON"),
        ("[]", "found a list, expected an object"),
        ('{"schema": "hettest-report-1"}', "found schema 'hettest-report-1'"),
        (
            broken(["items", 0, "outcome"], "great"),
            r"\$\.items\[0\]\.outcome: 'great' is not one of",
        ),
        (broken(["items", 0, "outcome"], "failed"), r"\$\.counts\.passed: found 1, expected 0"),
        (broken(["counts", "passed"], 2), r"\$\.counts\.passed: found 2, expected 1"),
        (broken(["selected"], 9), r"\$\.selected: found 9, expected 2"),
        (broken(["items", 1, "id"], "a/b[x]"), r"\$\.items: a/b\[x\] is there twice"),
        (broken(["levels", 0, "rungs", 1, "reach"], "done"), r"\$\.levels\[0\]\.rungs\[1\]\.reach"),
        (broken(["extra"], 1), "'extra' was unexpected"),
    ],
)
def test_what_is_malformed_is_told_with_its_key(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read(text)


def test_the_options_name_every_form_of_report() -> None:
    assert tuple(FORMATS) == ENDINGS
