"""Outcomes are counted in one place, and add up."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hettest.backend.protocol import Copy
from hettest.expect.transfers import listing
from hettest.ledger import Ledger
from hettest.outcome import Clause, Outcome, Record, Status
from hettest.report import FORMATS, ReportContent, write
from hettest.report.json_report import SCHEMA, read
from hettest.report.text import lines

texts = st.text(max_size=20)
clauses = st.builds(
    Clause,
    st.sampled_from(["values", "copies"]),
    st.sampled_from(Status),
    texts,
    st.none() | st.integers(1, 99),
    st.none() | st.just("observe:copies"),
)
records = st.builds(
    Record,
    id=st.from_regex(r"[a-z]{1,3}/[a-z]{1,3}\[x\]", fullmatch=True),
    outcome=st.sampled_from(Outcome),
    reason=texts,
    level=st.none() | st.integers(0, 6),
    clauses=st.lists(clauses, max_size=2).map(tuple),
    text=texts,
)


@given(records)
def test_a_record_survives_the_way_from_a_worker(record: Record) -> None:
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record


@given(st.lists(records), st.lists(st.from_regex(r"[a-z]{1,3}", fullmatch=True)))
def test_outcomes_add_up_to_what_was_selected(ended: list[Record], others: list[str]) -> None:
    ledger = Ledger()
    for name in others:
        ledger.select(name)
    for record in ended:
        ledger.add(record)
    ledger.close()

    counts = ledger.counts()

    assert sum(counts.values()) == len(ledger.selected)
    assert counts[Outcome.NOT_RUN] >= len(set(others) - {r.id for r in ended})
    failing = counts[Outcome.FAILED] + counts[Outcome.CRASHED]
    expected = 1 if failing else 6 if counts[Outcome.NOT_RUN] else 0
    assert ledger.exit_code() == expected


def test_a_failure_is_not_undone_by_a_later_report() -> None:
    ledger = Ledger()
    ledger.add(Record("a", Outcome.FAILED, "broken"))
    ledger.add(Record("a", Outcome.PASSED))

    assert ledger.counts()[Outcome.FAILED] == 1


def test_pytests_own_exit_code_stands_when_all_is_well() -> None:
    ledger = Ledger()
    ledger.add(Record("a", Outcome.PASSED))

    assert ledger.exit_code(5) == 5


def content(ended: list[Record]) -> ReportContent:
    ledger = Ledger()
    for record in ended:
        ledger.add(record)
    return ReportContent(
        backend="fake",
        devices=["cpu:0"],
        policy="incomplete",
        counts=ledger.counts(),
        records=ledger.in_order(),
        deselected={"above level 2": 3},
        expected=["a/b[x]"],
        expected_file="expected-cpu.txt",
        started=1e9,
    )


@given(st.lists(records, max_size=4))
def test_the_json_report_keeps_its_schema_and_reads_back(ended: list[Record]) -> None:
    from hettest.report.json_report import document, render

    report = content(ended)

    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document(report))
    again = read(render(report))
    assert again.counts == report.counts
    assert list(again.records) == list(report.records)


@given(st.lists(records, max_size=4))
def test_the_junit_report_is_wellformed_whatever_the_texts(ended: list[Record]) -> None:
    made = FORMATS[".xml"](content(ended), None)

    root = ElementTree.fromstring(made.partition("\n")[2])

    assert len(root[0]) == len({record.id for record in ended})


def test_the_text_names_every_item_that_did_not_pass() -> None:
    ended = [
        Record("a/b[x]", Outcome.PASSED, level=1),
        Record("a/c[x]", Outcome.UNSUPPORTED, "not claimed: op:det", level=2),
        Record("a/d[x]", Outcome.NOT_RUN, "no driver", level=2, counted=False),
    ]

    counts = "1 passed, 0 failed, 0 crashed, 0 not run, 1 unsupported, 0 waived"

    found = list(lines(content(ended)))

    assert found == [
        "fake on cpu:0",
        f"3 items: {counts}; 1 skipped and not counted",
        "deselected: 3 above level 2",
        "expected:",
        "  1 item as expected-cpu.txt lists them; 0 missing, 2 not listed",
        "  not listed: a/c[x]",
        "  not listed: a/d[x]",
        "unsupported (1):",
        "  a/c[x]: not claimed: op:det",
        "skipped, device missing (1):",
        "  a/d[x]: no driver",
    ]


def test_the_form_follows_the_name(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "x.json", content([]))
    write(tmp_path / "x.xml", content([]))

    assert json.loads((tmp_path / "deep" / "x.json").read_text())["schema"] == "hettest-report-2"
    assert ElementTree.parse(tmp_path / "x.xml").getroot().tag == "testsuites"


def test_many_unsupported_items_are_counted_by_what_is_missing() -> None:
    lacking = [("op:det",), ("op:det", "mode:rpc")] * 5 + [("input:hir (what, then, is it)",)]
    ended = [
        Record(f"a/{i}[x]", Outcome.UNSUPPORTED, "not claimed", level=2, lacks=words)
        for i, words in enumerate(lacking)
    ]

    found = list(lines(content(ended)))

    start = found.index("unsupported (11), not claimed:")
    assert found[start + 1 : start + 4] == [
        "  op:det: 10 items, first a/0[x]",
        "  mode:rpc: 5 items, first a/1[x]",
        "  input:hir (what, then, is it): 1 item, first a/10[x]",
    ]


def test_a_delivered_result_is_called_so() -> None:
    copies = [Copy("sim:0", "cpu:0", None, 16, "deliver"), Copy("sim:0", "cpu:0", None, 4, "read")]

    assert listing(copies).splitlines() == [
        "  the result: sim:0 -> cpu:0, 16 bytes (deliver)",
        "  ?: sim:0 -> cpu:0, 4 bytes (read)",
    ]
