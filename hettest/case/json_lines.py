"""On which line of a JSON text each key and each item stands; `json` does not say.

The text is known to be valid, so this looks only for what opens and closes keys and values::

    {"benchmarks": [
       {"name": "test_it"}
    ]}

gives ``{("benchmarks",): 1, ("benchmarks", 0): 2, ("benchmarks", 0, "name"): 2}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, final

from hettest.case.lines import Path

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+|\n')


@final
@dataclass
class _Open:
    """An object or an array whose end has not been reached."""

    path: Path
    key: str | int | None = None
    """What the value to come is called."""


@final
@dataclass
class _Scanner:
    line: int = 1
    stack: list[_Open] = field(default_factory=list)
    lines: dict[Path, int] = field(default_factory=dict)

    def take(self, token: str) -> None:
        top = self.stack[-1] if self.stack else None
        if token == "\n":
            self.line += 1
        elif token in "}]":
            self.stack.pop()
        elif token == ":" or top is None:
            self._begin(token, ())
        elif token == ",":
            top.key = top.key + 1 if isinstance(top.key, int) else None
        elif top.key is None:
            top.key = json.loads(token)
            self.lines[(*top.path, top.key)] = self.line
        else:
            path = (*top.path, top.key)
            self.lines.setdefault(path, self.line)
            self._begin(token, path)

    def _begin(self, token: str, path: Path) -> None:
        if token in "{[":
            self.stack.append(_Open(path, 0 if token == "[" else None))


def json_key_lines(text: str) -> Mapping[Path, int]:
    """Return the line, from 1, of every key and every item of an array in a valid JSON text."""
    scanner = _Scanner()
    for found in _TOKEN.finditer(text):
        scanner.take(found[0])
    return scanner.lines
