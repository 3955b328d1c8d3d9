"""Whatever text a run holds, each form of report is well formed and shows nothing hidden."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from hettest.files import cleaned, printable
from hettest.levels.standing import Reach
from hettest.outcome import Clause, Outcome, Record, Seen, Status, Transfer
from hettest.report import FORMATS, ReportContent, json_report, write
from hettest.report.text import lines
from tests.unit.hettest.files.hostile_text import NASTY, hidden, texts
from tests.unit.hettest.report.made import content, core, rung


def said(text: str) -> ReportContent:
    """Return a run in which every text that comes from outside is ``text``."""
    clauses = (
        Clause("values", Status.FAILED, text, word=text),
        Clause("copies", Status.PROVEN, text),
    )
    seen = Seen(
        {text: (text, "cpu:0")}, (Transfer(text, text, "cpu:0", 4, text, text),), {text: ()}
    )
    records = [
        Record(f"{text}/a[x]", Outcome.FAILED, text, 1, clauses, stage="run", text=text, seen=seen),
        Record(f"b.py::{text}", Outcome.UNSUPPORTED, text, lacks=(text,), requires=(text,)),
        Record(f"c[{text}]", Outcome.WAIVED, text, 1, case=f"c{text}", waiver=text),
        Record("d", Outcome.NOT_RUN, text, devices=(text,)),
        Record("e", Outcome.CRASHED, text, proves=(text,)),
    ]
    return content(
        records,
        backend=text,
        devices=(f"cpu:0{text}",),
        deselected={text: 1},
        problems=(text,),
        partial=text,
        claims=(text,),
        models=({"model": text},),
        standings=(core(rung(0, Reach.REACHED), rung(1, Reach.BLOCKED, text), placement="caused"),),
        environment={"python": text, text: "x"},
        packages={text: "0" * 64},
        suite={"files": text},
    )


class Page(HTMLParser):
    """Notes which elements a page has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


@given(texts())
@settings(max_examples=25)
def test_every_form_is_well_formed_and_shows_nothing_hidden(text: str) -> None:
    run = said(text)

    made = {ending: form(run, said("former")) for ending, form in FORMATS.items()}

    for ending, document in made.items():
        assert not hidden(document), ending
        document.encode()
    again = json_report.read(made[".json"])
    assert [record.reason for record in again.records] == [printable(text)] * 5
    suite = ElementTree.fromstring(made[".xml"])[0]
    assert [case[0].get("message") is not None for case in suite] == [True] * 5
    assert set(Page(made[".html"]).tags) <= set(Page(FORMATS[".html"](said("a\n."), None)).tags) | {
        *("a", "svg", "path", "g", "text", "rect", "title", "marker", "defs", "details", "summary")
    }
    assert made[".html"].count("<script") == 1


@given(texts())
@settings(max_examples=25)
def test_a_terminal_shows_one_line_for_each_line(text: str) -> None:
    for line in lines(said(text), said("former")):
        assert "\n" not in line
        assert not hidden(line)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_report_read_again_renders_the_same(ending: str) -> None:
    run = said("/".join(NASTY))
    again = json_report.read(FORMATS[".json"](run, None))

    assert FORMATS[ending](again, None) == FORMATS[ending](run, None)
    assert FORMATS[ending](cleaned(run), None) == FORMATS[ending](run, None)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_report_that_cannot_be_made_leaves_the_former_one(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"report{ending}"
    write(path, said("former"))
    former = path.read_bytes()
    unmakeable = replace(said("new"), records=[None])  # type: ignore[list-item]

    with pytest.raises(AttributeError):
        write(path, unmakeable)

    assert path.read_bytes() == former
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_long_reason_is_cut_in_every_form() -> None:
    run = said("x" * 1_000_000)

    for ending, form in FORMATS.items():
        assert len(form(run, None)) < 1_000_000, ending
    assert len(json.loads(FORMATS[".json"](run, None))["items"][0]["reason"]) < 10_000
