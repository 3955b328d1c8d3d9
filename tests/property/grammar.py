"""The grammar on the page of the language, as a lark parser."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "language.md"

_PART = re.compile(r'\(\*.*?\*\)|"[^"]*"|[A-Za-z_]+|[][{}()|=]|\s+')
_BRACKETS = {"{": "(", "}": ")*", "[": "(", "]": ")?", "(": "(", ")": ")"}


def block(kind: str) -> str:
    """Return the first fenced block of this kind on the page."""
    found = re.search(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found, f"no {kind} block on {PAGE.name}"
    return found[1]


def quoted_words() -> set[str]:
    """Return every word and sign that the grammar quotes."""
    rules = re.sub(r"\(\*.*?\*\)", "", block("ebnf"))
    return set(re.findall(r'"([^"]*)"', rules))


def lark_grammar() -> str:
    """Return the page's grammar in lark's notation; rules get the prefix ``r_``."""
    return "\n".join([*_rules(), *_terminals()]) + "\n"


def _rules() -> list[str]:
    text = block("ebnf")
    assert not _PART.sub("", text), "the grammar has a sign that is no EBNF"
    parts = [p for p in _PART.findall(text) if p.strip() and not p.startswith("(*")]
    lines: list[list[str]] = []
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        if following == "=":
            lines.append([f"r_{part}:"])
        elif part != "=":
            lines[-1].append(_lark(part))
    return [" ".join(line) for line in lines]


def _lark(part: str) -> str:
    if part in _BRACKETS:
        return _BRACKETS[part]
    if part.islower() and not part.startswith('"'):
        return f"r_{part}"
    return part


def _terminals() -> list[str]:
    lines = []
    for line in block("tokens").splitlines():
        name, _, pattern = line.partition("=")
        lines.append(f"{name.strip().upper()}:{re.sub(r'ident$', 'IDENT', pattern)}")
    return [*lines, "%ignore COMMENT", "%ignore BLANK"]
