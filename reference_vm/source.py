"""Places in a text, and their caret pictures.

--> placement/shared_input:3:23
  |
3 |   fn @main(%x: f32[4] @gpu) -> f32[4] {
  |                       ^^^^
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import final


@final
@dataclass(frozen=True)
class Source:
    """A text that programs are read from."""

    name: str
    """What messages call it: a path, a case id."""

    text: str
    first_line: int = 1
    """The number of the text's first line in the file that holds it."""

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        starts.extend(found.end() for found in re.finditer("\n", self.text))
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of ``offset``, both counted from 1."""
        index = bisect_right(self._starts, offset) - 1
        return index + self.first_line, offset - self._starts[index] + 1

    def line(self, number: int) -> str:
        """Return the text of one line, without its end."""
        index = number - self.first_line
        end = self._starts[index + 1] - 1 if index + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[index] : end]

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, end)


@final
@dataclass(frozen=True, eq=False)
class Span:
    """A part of a source: where something was written."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"

    def picture(self) -> str:
        """Return the place, the line and carets under the span's part of that line."""
        line = self.source.line(self.line)
        width = max(1, min(self.end - self.start, len(line) - self.column + 1))
        margin = " " * len(str(self.line))
        return "\n".join(
            (
                f"{margin}--> {self}",
                f"{margin} |",
                f"{self.line} | {line}",
                f"{margin} | {' ' * (self.column - 1)}{'^' * width}",
            )
        )
