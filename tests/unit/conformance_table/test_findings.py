"""Failures and findings keep each other alive; pages say what was found."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.conformance_table import findings, pages
from benchmarks.conformance_table.findings import Engine, Finding, idle, read, unexplained
from benchmarks.conformance_table.runs import EngineRun, shown
from hettest.outcome import Outcome, Record

PASSED = Record("placement/chain[plain,policy=copy]", Outcome.PASSED, level=4)
FAILED = Record("placement/chain[other,policy=copy]", Outcome.FAILED, "copies: found 2", 4)
CRASHED = Record("ops/add/ints[by-zero,default=cpu:0]", Outcome.CRASHED, "killed", 2)
LACKING = Record("ops/det/values[x]", Outcome.UNSUPPORTED, "not claimed: op:det", 2)
RECORDS = (PASSED, FAILED, CRASHED, LACKING)


def finding(*cases: str, program: str = "print(1)") -> Finding:
    return Finding(f"about {cases[0]}", cases, "Why.", program)


def engine(*found: Finding) -> Engine:
    return Engine("acme", "Acme", ("acme",), ("cpu:0", "cpu:1"), "About.", found)


def test_a_failure_without_a_finding_is_told() -> None:
    one = engine(finding("placement/chain"))

    assert unexplained(one, RECORDS) == [CRASHED]


def test_a_finding_that_nothing_fails_of_is_told() -> None:
    gone = finding("placement/diamond", "placement/chain[other")

    assert idle(engine(gone), RECORDS) == [(gone, "placement/diamond")]


@pytest.mark.parametrize(
    ("pattern", "explains"),
    [
        ("placement/chain", True),
        ("placement/chain[other", True),
        ("placement/chain[other,policy=copy]", True),
        ("placement/cha", False),
        ("placement/chain[oth", False),
    ],
)
def test_a_pattern_ends_where_a_part_of_the_id_ends(pattern: str, explains: bool) -> None:
    assert finding(pattern).explains(FAILED.id) is explains


def test_the_page_shows_the_program_with_what_it_prints() -> None:
    explained = engine(finding("placement/chain"), finding("ops/add/ints[by-zero"))
    run = EngineRun(explained, {"acme": "1.0"}, RECORDS)

    text = pages.page(run, {f.title: "one" for f in explained.findings})

    assert "Fails 1 items of `placement/chain`." in text
    assert "```text\none\n```" in text
    assert "| not claimed: op:det | 1 |" in text
    assert "not explained yet" not in text


def test_the_page_lists_what_is_not_explained() -> None:
    run = EngineRun(engine(), {"acme": "1.0"}, RECORDS)

    text = pages.page(run, {})

    assert f"* `{FAILED.id}`: copies: found 2" in text
    assert len(pages.problems(run)) == 2


def test_the_index_counts_by_level_and_names_each_case_once() -> None:
    text = pages.index([EngineRun(engine(), {"acme": "1.0"}, RECORDS)])

    assert "| 4: planning | 1 | 1 | 0 | 0 | 2 |" in text
    assert text.count("| `placement/chain` | **FAIL 1/2** |") == 1
    assert "ops/add" not in text


def test_a_program_that_dies_is_shown_with_its_signal() -> None:
    program = "import os\nprint('so far', flush=True)\nos.abort()"

    text = shown(finding("x", program=program))

    assert text == "so far\n(the process was killed by SIGABRT)"


def test_the_files_of_engines_are_well_formed() -> None:
    engines = read(Path(findings.__file__).parent)

    assert [e.key for e in engines] == ["apache_tvm", "jax", "onnxruntime"]
    for each in engines:
        titles = [f.title for f in each.findings]
        assert len(set(titles)) == len(titles)
        for one in each.findings:
            compile(one.program, one.title, "exec")
