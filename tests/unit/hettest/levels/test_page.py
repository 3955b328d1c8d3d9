"""The page on levels names every word of the profiles, level by level."""

from __future__ import annotations

import re
from pathlib import Path

from hettest.levels.profile import EVERY_DEVICE, load

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "levels.md"


def rows(heading: str) -> dict[str, set[str]]:
    """Return the words of the table below a heading, by the first column."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")
    found = re.findall(r"^\| ([^|]+) \| ([^|]*)\|", rest.partition("\n## ")[0], re.MULTILINE)
    return {first: set(re.findall(r"`([^`]+)`", words)) for first, words in found}


def test_core_1_is_what_the_page_says() -> None:
    page = rows("core@1")

    for step in load("core@1").steps:
        words = {w for choice in step.words for w in choice if w != EVERY_DEVICE}
        plain = {w.split(":")[1] if w.startswith("op:") else w for w in words}
        assert page[step.name] - {"device:"} == plain


def test_dynamic_1_is_what_the_page_says() -> None:
    page = rows("dynamic@1")
    core = load("core@1").steps
    common = {choice for step in core if step.level in (0, 1, 3) for choice in step.words}

    for step in load("dynamic@1").steps:
        own = {choice[0] for choice in step.words if choice not in common}
        assert step.group is not None
        assert page[step.group] == own
        assert common <= set(step.words)
