"""The clauses that cases name are published, each is proven, and each says where it is defined."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hettest.case.clauses import PLACING, Clause, listed_for, published, read, titles, unknown
from hettest.cli.main import application
from hettest.corpus import case_files, corpus_root, own_cases
from hettest.errors import CaseError
from hettest.language import operators
from tests.contract.clauses_page import PAGE, page
from tests.unit.hettest.case.written import text, write

_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def named() -> set[str]:
    return {clause for case in own_cases() for clause in case.clauses}


def headings(page_: str) -> set[str]:
    """Return the places of a reference page that a link may lead to."""
    content = (PAGE.parent / page_).read_text(encoding="utf-8")
    kept = (re.sub(r"[^\w\- ]", "", found.lower()) for found in _HEADING.findall(content))
    return {words.replace(" ", "-") for words in kept}


def test_every_case_names_published_clauses_only() -> None:
    assert named() <= published().keys()


def test_every_clause_is_proven_by_a_case_or_says_why_not() -> None:
    without = {c.id for c in published().values() if c.gap is None} - named()

    assert without == set()


def test_a_clause_that_says_that_it_has_no_case_has_none() -> None:
    assert {c.id for c in published().values() if c.gap is not None} & named() == set()


def test_every_operator_has_a_clause_of_its_own() -> None:
    assert {f"ops.{name}" for name in operators()} - published().keys() == {
        f"ops.{name}" for name in PLACING
    }


def test_clauses_are_sentences_and_ids_are_words() -> None:
    for clause in published().values():
        assert re.fullmatch(r"[a-z]+\.[a-z0-9_-]+", clause.id), clause.id
        assert clause.says.endswith("."), clause
        assert clause.id.partition(".")[0] in titles()
        assert clause.gap is None or len(clause.gap) > 10


def test_every_clause_names_a_heading_that_defines_it() -> None:
    places = [clause.defined.partition("#") for clause in published().values()]
    known = {page_: headings(page_) for page_, _, _ in places}

    assert [f"{page_}#{place}" for page_, _, place in places if place not in known[page_]] == []


def test_the_page_is_what_the_list_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.contract.clauses_page"


def test_an_unknown_clause_is_told_with_one_that_is_near() -> None:
    listed = {"copies.shared-input": Clause("copies.shared-input", "It is.", "planning.md#a")}

    assert unknown("copies.shared-input", listed) is None
    assert unknown("copies.shared-inputs", listed) == (
        "copies.shared-inputs is no clause; did you mean copies.shared-input?"
    )


def test_strangers_may_name_what_they_like_until_they_list_it(tmp_path: Path) -> None:
    write(tmp_path, text().replace("placement.operands", "streams.order"))
    arguments = ["case", "check", str(tmp_path)]

    free = CliRunner().invoke(application(), arguments)
    (tmp_path / "clauses.toml").write_text(
        '[streams]\ntitle = "Streams"\norders = { says = "In order.", defined = "a.md#b" }\n'
    )
    held = CliRunner().invoke(application(), arguments)

    assert free.exit_code == 0, free.output
    assert held.exit_code == 1
    assert "clauses: streams.order is no clause" in held.output
    assert "did you mean streams.orders?" in held.output
    assert "case files: 1, problems: 1" in held.output
    assert len(case_files(tmp_path)) == 1


def test_our_own_cases_are_held_to_the_published_list(tmp_path: Path) -> None:
    assert listed_for(corpus_root(), corpus_root()) == published()
    assert listed_for(tmp_path, corpus_root()) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a = 1", "a: found 1, expected the table of an area"),
        ("[a]\nb = 1", "a.b: found 1, expected a table with says and defined"),
        ('[a]\nb = { says = "x" }', "a.b: found {'says': 'x'}, expected a table with says"),
        ('[a]\nb = { says = "x", defined = "y", gaps = "z" }', "a.b: found"),
        ("[a", "Expected ']'"),
    ],
)
def test_a_list_of_another_form_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "clauses.toml").write_text(content)

    with pytest.raises(CaseError, match=re.escape(message)):
        read(tmp_path / "clauses.toml")
