"""Whatever a message sends its reader to is explained where the kit is installed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import hettest
import reference_vm
from hettest import manual
from hettest.case.clauses import published
from hettest.errors import UsageError
from hettest.language import CODES
from hettest.levels import reading
from tests.unit.hettest.test_cli import hettest as command

PACKAGES = [Path(str(package.__file__)).parent for package in (hettest, reference_vm)]
COMMAND = re.compile(r"hettest explain ([a-z][\w.#-]*)")


@pytest.mark.parametrize("clause", published())
def test_each_clause_is_explained_by_the_part_that_defines_it(clause: str) -> None:
    said, _, defined = manual.explain(clause).partition("\n\n")

    assert said == f"{clause}: {published()[clause].says}"
    assert defined.startswith("#")
    assert len(defined.splitlines()) > 2


@pytest.mark.parametrize("code", sorted(CODES))
def test_each_code_is_explained(code: str) -> None:
    assert re.match(rf"## {code}\n\n\S", manual.explain(code))


@pytest.mark.parametrize("page", manual.pages())
def test_each_page_and_each_of_its_parts_is_found(page: str) -> None:
    text = manual.explain(page)

    parts = [anchor for _, _, anchor in manual._headings(text)]
    assert parts
    for part in parts:
        assert manual.explain(f"{page}.md#{part}") in text.rstrip() + "\n"


def test_a_part_ends_where_the_next_of_its_depth_begins() -> None:
    assert "## argument-dtype" not in manual.explain("argument-count")
    assert manual.explain("errors#errors") == manual.explain("errors")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("copies.operand", "did you mean copies.operands"),
        ("plannin", "did you mean planning"),
        ("planning#control-flo", "did you mean planning#control-flow"),
        ("xyzzy", "expected a clause, such as copies.operands, the code of an error, or a page: "),
        ("../pyproject", "there is nothing called ../pyproject"),
    ],
)
def test_what_is_unknown_is_told_with_what_is_near(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        manual.explain(name)


def test_the_command_prints_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "explain", "copies.operands") == 0
    assert "copies.operands: " in capsys.readouterr().out
    assert command(monkeypatch, "explain", "xyzzy") == 2
    assert "there is nothing called xyzzy" in capsys.readouterr().err


def messages(path: Path) -> list[str]:
    """Return the texts of a module, but for what documents it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documenting = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documenting
    ]


def test_no_message_names_a_file_that_only_a_checkout_has() -> None:
    fields = set(reading._PAGES.values()) | {reading.CLAUSES, reading.WORDS, "docs/reference/"}
    found = [
        f"{path.name}: {text}"
        for package in PACKAGES
        for path in package.rglob("*.py")
        for text in messages(path)
        if re.search(r"\bdocs/", text) and text not in fields
    ]

    assert found == []


def test_each_command_that_a_message_names_explains_something() -> None:
    named = {
        name
        for package in PACKAGES
        for path in package.rglob("*.py")
        for text in messages(path)
        for name in COMMAND.findall(text)
    }
    shown = {reading.explained(page) for page in (*reading._PAGES.values(), reading.WORDS)}

    assert {"clauses", "operators", "language#types"} <= named
    for name in named | {COMMAND.findall(text)[0] for text in shown}:
        manual.explain(name)
