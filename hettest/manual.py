"""The pages that define things, as this installation brings them: found by name, cut by heading.

An installation has the pages of ``docs/reference`` beside its modules, so that a message can name
``hettest explain copies.operands`` wherever it is read.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hettest.case.clauses import published
from hettest.errors import UsageError
from hettest.language import CODES

_HERE: Final = Path(__file__).parent
_HEADING: Final = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_FENCE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def folder() -> Path:
    """Return the folder of the pages.

    Raises:
        UsageError: There is none; the installation is damaged.
    """
    for root in (_HERE / "_docs", _HERE.parent / "docs" / "reference"):
        if root.is_dir():
            return root
    raise UsageError(f"found no pages beside {_HERE}; the installation is incomplete")


def pages() -> tuple[str, ...]:
    """Return the names of the pages, such as ``planning``."""
    return tuple(sorted(path.stem for path in folder().glob("*.md")))


def explain(name: str) -> str:
    """Return what ``name`` means: a clause, the code of an error, a page, or a part of one.

    Args:
        name: ``copies.operands``, ``out-of-memory``, ``planning`` or ``planning#control-flow``.

    Raises:
        UsageError: There is nothing of that name; says what is nearest.
    """
    clause = published().get(name)
    if clause is not None:
        return f"{clause.id}: {clause.says}\n\n{section(clause.defined)}"
    if name in CODES:
        return section(f"errors.md#{name}")
    return section(name)


def section(place: str) -> str:
    """Return a page, or the part of it under one heading: ``planning.md#control-flow``.

    Raises:
        UsageError: There is none.
    """
    name, _, anchor = place.partition("#")
    name = name.removesuffix(".md")
    if name not in pages():
        raise _unknown(place, [*published(), *CODES, *pages()])
    text = (folder() / f"{name}.md").read_text(encoding="utf-8")
    if not anchor:
        return text
    found = list(_headings(text))
    for number, (depth, start, at) in enumerate(found):
        if at == anchor:
            after = (begin for level, begin, _ in found[number + 1 :] if level <= depth)
            return text[start : next(after, len(text))].rstrip() + "\n"
    raise _unknown(place, [f"{name}#{at}" for _, _, at in found])


def anchor_of(heading: str) -> str:
    """Return what a link to a heading ends in."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the depth, the place and the anchor of each heading; none of what blocks show."""
    hidden = _FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in _HEADING.finditer(hidden):
        yield len(found[1]), found.start(), anchor_of(found[2])


def _unknown(name: str, known: list[str]) -> UsageError:
    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return UsageError(f"there is nothing called {name}; did you mean {' or '.join(near)}?")
    listed = ", ".join(pages())
    kinds = "a clause, such as copies.operands, the code of an error, or a page"
    return UsageError(f"there is nothing called {name}; expected {kinds}: {listed}")
