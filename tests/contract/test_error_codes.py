"""Every code that a diagnostic can have is explained on the page of errors, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from reference_vm.diagnostics.codes import CODES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "errors.md"
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)+")
SAYS = {"Diagnostic", "DataError", "error", "bad_argument", "data_error"}
"""The functions whose first argument, or argument ``code``, is a code."""


def strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def said(tree: ast.AST) -> Iterator[str]:
    """Yield the codes that a module names where it makes a diagnostic."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", None))
        given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "code")]
        if name in SAYS:
            yield from (v for g in given for v in strings(g) if CODE.fullmatch(v))


def trees() -> list[ast.Module]:
    return [ast.parse(p.read_text()) for p in sorted((ROOT / "reference_vm").rglob("*.py"))]


SECTIONS = re.findall(r"^## (\S+)$", PAGE.read_text(), re.MULTILINE)


def test_each_code_has_a_section() -> None:
    codes = {code for tree in trees() for code in said(tree)}

    assert len(codes) > 50
    assert sorted(codes - set(SECTIONS)) == []


def test_the_codes_that_cases_may_name_are_the_sections() -> None:
    assert sorted(CODES) == SECTIONS, "write the new code into reference_vm/diagnostics/codes.py"


def test_each_section_is_of_a_code() -> None:
    known = {text for tree in trees() for text in strings(tree)}
    known |= {f"duplicate-{kind}" for kind in ("constructor", "function", "type")}

    assert sorted(set(SECTIONS) - known) == []


def test_the_sections_are_in_alphabetical_order_and_none_is_empty() -> None:
    parts = re.split(r"^## \S+$", PAGE.read_text(), flags=re.MULTILINE)[1:]

    assert sorted(set(SECTIONS)) == SECTIONS
    assert all(len(part.strip()) > 20 for part in parts)
