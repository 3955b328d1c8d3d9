"""A survey as Markdown: operators by dtype, the other words, and what fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hettest.language import DTYPES
from hettest.probing.support import Colour, Support, Survey

MARKS: Final[Mapping[Colour, str]] = {
    Colour.WORKS: "✔",
    Colour.FAILS: "✘",
    Colour.UNDECLARED: "+",
    Colour.ABSENT: "-",
    Colour.UNTESTED: "·",
}
_ANY: Final = "any"


def render(survey: Survey) -> str:
    """Return the page."""
    return "\n".join(_lines(survey)) + "\n"


def _lines(survey: Survey) -> Iterator[str]:
    yield f"# What {survey.backend} supports on {', '.join(survey.devices)}"
    yield ""
    for colour, mark in MARKS.items():
        yield f"* {mark} {colour.value}: {len(survey.of(colour))}"
    for device, reason in survey.missing.items():
        yield f"* {device} was not there: {reason}"
    for device in survey.untried:
        yield f"* {device} was not tried: each item on it needs more than is declared"
    yield from _failures(survey)
    yield from _operators([s for s in survey.words if s.area == "op"])
    yield from _others([s for s in survey.words if s.area != "op"])


def _failures(survey: Survey) -> Iterator[str]:
    failing = survey.of(Colour.FAILS)
    if not failing:
        return
    yield from ("", "## Declared and fails", "", "| word | item | what |", "|---|---|---|")
    for support in failing:
        tried = support.failure
        assert tried is not None
        yield f"| `{support.word}` | `{tried.item}` | {_cell(tried.reason)} |"


def _operators(words: Sequence[Support]) -> Iterator[str]:
    if not words:
        return
    table: dict[str, dict[str, str]] = {}
    for support in words:
        _, name, *dtype = support.word.split(":")
        table.setdefault(name, {})[dtype[0] if dtype else _ANY] = MARKS[support.colour]
    used = {dtype for row in table.values() for dtype in row}
    columns = [dtype for dtype in (*DTYPES, _ANY) if dtype in used]
    yield from ("", "## Operators, by the dtype of the first operand", "")
    yield f"| operator | {' | '.join(columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for name, row in sorted(table.items()):
        yield f"| `{name}` | {' | '.join(row.get(dtype, '') for dtype in columns)} |"


def _others(words: Sequence[Support]) -> Iterator[str]:
    if not words:
        return
    yield from ("", "## Other words", "", "| word | |", "|---|---|")
    for support in words:
        yield f"| `{support.word}` | {MARKS[support.colour]} {support.colour.value} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
