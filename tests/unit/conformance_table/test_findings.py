"""Failures and findings keep each other alive; pages and waivers say what was found."""

from __future__ import annotations

import datetime
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.conformance_table import findings, pages
from benchmarks.conformance_table.__main__ import WAIVERS, main
from benchmarks.conformance_table.findings import (
    Engine,
    Finding,
    idle,
    read,
    unexplained,
    waiver_file,
)
from benchmarks.conformance_table.runs import EngineRun, shown
from hettest.backend.naming import parse_name
from hettest.outcome import Clause, Outcome, Record, Status
from hettest.waivers.loader import parse

ENGINES = read(Path(findings.__file__).parent)
CASES = frozenset({"placement/chain", "placement/diamond", "ops/add/ints", "ops/det/values"})
COPIES = (Clause("copies", Status.FAILED, "found 2, expected 1"),)
PASSED = Record(
    "placement/chain[plain,policy=copy]", Outcome.PASSED, level=4, case="placement/chain"
)
FAILED = Record(
    "placement/chain[other,policy=copy]",
    Outcome.FAILED,
    "copies: found 2",
    4,
    COPIES,
    case="placement/chain",
)
CRASHED = Record(
    "ops/add/ints[by-zero,default=cpu:0]",
    Outcome.CRASHED,
    "killed",
    2,
    stage="crash",
    case="ops/add/ints",
)
LACKING = Record(
    "ops/det/values[x]", Outcome.UNSUPPORTED, "not claimed: op:det", 2, case="ops/det/values"
)
RECORDS = (PASSED, FAILED, CRASHED, LACKING)


def finding(stage: str, *cases: str, program: str = "print(1)") -> Finding:
    return Finding(f"about {cases[0]}", {stage: cases}, "Why.", program)


def engine(*found: Finding) -> Engine:
    expires = datetime.date(2027, 1, 1)
    return Engine("acme", "Acme", "acme", ("acme",), ("cpu:0",), expires, "About.", found)


def run(one: Engine) -> EngineRun:
    return EngineRun(one, {"acme": "1.0"}, RECORDS, CASES)


def test_a_failure_without_a_finding_is_told() -> None:
    one = engine(finding("copies", "placement/chain"))

    assert unexplained(one, RECORDS) == [CRASHED]


def test_a_finding_about_another_stage_explains_nothing() -> None:
    one = engine(finding("values", "placement/chain"), finding("crash", "ops/add/*"))

    assert unexplained(one, RECORDS) == [FAILED]
    assert not one.findings[0].explains(FAILED)


def test_what_nothing_fails_of_any_more_is_told() -> None:
    gone = finding("copies", "placement/chain[plain,*", "placement/gone", "placement/chain")

    told = list(idle(engine(gone), RECORDS, CASES))

    assert [line.partition(": the waiver of ")[2] for line in told] == [
        "copies for placement/chain[plain,* is not needed any more: take it out (1 passed)",
        "copies for placement/gone matches no case: take it out, or mend its pattern",
    ]


def test_the_page_shows_the_program_with_what_it_prints() -> None:
    explained = engine(finding("copies", "placement/chain"), finding("crash", "ops/add/ints[by*"))

    text = pages.page(run(explained), {f.title: "one" for f in explained.findings})

    assert "Fails 1 items of `placement/chain`." in text
    assert "```text\none\n```" in text
    assert "| not claimed: op:det | 1 |" in text
    assert "not explained yet" not in text


def test_the_page_lists_what_is_not_explained() -> None:
    text = pages.page(run(engine()), {})

    assert f"* `{FAILED.id}`: copies: found 2" in text
    assert len(pages.problems(run(engine()))) == 2


def test_the_index_counts_by_level_and_names_each_case_once() -> None:
    text = pages.index([run(engine())])

    assert "| 4: planning | 1 | 1 | 0 | 0 | 2 |" in text
    assert text.count("| `placement/chain` | **FAIL 1/2** |") == 1
    assert "ops/add" not in text


def test_a_program_that_dies_is_shown_with_its_signal() -> None:
    program = "import os\nprint('so far', flush=True)\nos.abort()"

    text = shown(finding("crash", "x", program=program))

    assert text == "so far\n(the process was killed by SIGABRT)"


def test_an_engine_that_there_is_not_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["acme"]) == 2
    assert capsys.readouterr().out.startswith("found no engine acme; there are apache_tvm, jax")


@pytest.mark.parametrize("each", ENGINES, ids=lambda e: e.key)
def test_the_files_of_engines_are_well_formed(each: Engine) -> None:
    titles = [f.title for f in each.findings]

    assert len(set(titles)) == len(titles)
    for one in each.findings:
        compile(one.program, one.title, "exec")


@pytest.mark.parametrize("each", ENGINES, ids=lambda e: e.key)
def test_the_waivers_that_are_shipped_are_those_of_the_findings(each: Engine) -> None:
    path = WAIVERS / f"{each.key}.toml"

    assert path.read_text(encoding="utf-8").rstrip("\n") == waiver_file(each).rstrip("\n")
    assert len(parse(waiver_file(each), path.name).entries) == len(each.waivers.entries)


@pytest.mark.parametrize("each", ENGINES, ids=lambda e: e.key)
def test_the_adapter_brings_the_waivers_of_its_engine(each: Engine) -> None:
    name = parse_name(each.backend)
    made = getattr(import_module(name.module), name.attribute)(**name.options)

    assert made.waivers == WAIVERS / f"{each.key}.toml"
