"""The corpus keeps its promises, and the reference passes all of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from hettest.backend.discovery import load
from hettest.case.clauses import published
from hettest.case.expansion import Item
from hettest.case.keys import MOST_SWEPT
from hettest.case.lint import problems_in
from hettest.case.model import Case
from hettest.corpus import case_files, cases, corpus_root, expected_items, select
from hettest.outcome import Outcome, Record
from hettest.report.json_report import SCHEMA as REPORT_SCHEMA
from hettest.runner import run_item
from hettest.runner.run import Environment

PAIR = ("cpu:0", "sim:0")
PARTS = 4
UNSUPPORTED = frozenset(
    {"construct:adt", "construct:closure", "construct:match", "construct:recursion"}
)
"""What the reference does not lower yet; every unsupported item names one of these."""


@pytest.fixture(scope="module")
def corpus() -> tuple[Case, ...]:
    return cases(corpus_root())


def test_every_file_keeps_its_promises() -> None:
    root = corpus_root()
    found = problems_in(case_files(root), root, published())

    assert [str(problem) for problem in found] == []


def judged(items: Sequence[Item], devices: tuple[str, ...]) -> list[Record]:
    environment = Environment(load("reference_vm"), "reference_vm", devices, {})
    return [run_item(item, environment) for item in items]


@pytest.mark.parametrize("part", range(PARTS))
def test_the_reference_passes(corpus: tuple[Case, ...], part: int) -> None:
    """In parts, so that several workers share them."""
    assert_passed(judged(select(corpus, PAIR).items[part::PARTS], PAIR))


def test_the_reference_passes_what_needs_a_third_device(corpus: tuple[Case, ...]) -> None:
    devices = (*PAIR, "sim:1")
    before = {item.id for item in select(corpus, PAIR).items}
    new = [item for item in select(corpus, devices).items if item.id not in before]
    three = [item for item in new if len(item.devices) > 2]
    two = [item for item in new if len(item.devices) <= 2]  # the same as with the second device
    items = three + two[::8]

    assert len(items) > 50
    assert_passed(judged(items, devices))


def assert_passed(records: Sequence[Record]) -> None:
    wrong = [r for r in records if r.outcome not in (Outcome.PASSED, Outcome.UNSUPPORTED)]
    assert not wrong, "\n\n".join(record.text or record.reason for record in wrong[:5])
    for record in records:
        if record.outcome is Outcome.UNSUPPORTED:
            named = set(record.reason.removeprefix("not claimed: ").split(", "))
            assert named & UNSUPPORTED, f"{record.id}: {record.reason}"


def test_the_committed_list_of_items_is_up_to_date(corpus: tuple[Case, ...]) -> None:
    expected = expected_items(corpus_root(), PAIR)
    assert expected is not None, "hettest list --devices=cpu,sim > cases/expected-cpu-sim.txt"

    found = [item.id for item in select(corpus, PAIR).items]

    assert list(expected[1]) == found, "rerun hettest list --devices=cpu,sim > " + str(expected[0])


def test_there_are_many_items_and_few_of_each_file(corpus: tuple[Case, ...]) -> None:
    items = select(corpus, PAIR).items
    of_file = Counter(item.case.id for item in items)

    assert len(items) >= 3000
    assert len(of_file) < 1200
    assert max(of_file.values()) <= MOST_SWEPT


def test_ids_are_unique(corpus: tuple[Case, ...]) -> None:
    items = select(corpus, (*PAIR, "sim:1")).items

    assert len({item.id for item in items}) == len(items)


def test_the_published_schemas_are_schemas() -> None:
    from jsonschema import Draft202012Validator

    from hettest.case.schema import SCHEMA

    for path in (SCHEMA, REPORT_SCHEMA):
        Draft202012Validator.check_schema(json.loads(Path(path).read_text(encoding="utf-8")))
