"""On which line of a TOML text each key stands; `tomllib` does not say.

The text is known to be valid, so this looks only for what opens and closes keys and values::

    format = 1
    [[run]]
    args.a = { dtype = "f32" }

gives ``{("format",): 1, ("run", 0): 2, ("run", 0, "args", "a"): 3}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, final

Path: TypeAlias = tuple["str | int", ...]

_KEY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_SKIP = re.compile(r"(?:\s|#[^\n]*)*")


@final
@dataclass
class _Scanner:
    text: str
    at: int = 0
    table: Path = ()
    arrays: dict[Path, int] = field(default_factory=dict)
    lines: dict[Path, int] = field(default_factory=dict)

    def run(self) -> dict[Path, int]:
        self._skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                self._header()
            else:
                self._pair()
            self._skip()
        return self.lines

    def _skip(self) -> None:
        found = _SKIP.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def _keys(self) -> Path:
        keys: list[str | int] = []
        while found := _KEY.match(self.text, self.at):
            keys.append(found[1].strip("\"'"))
            self.at = found.end()
            if self.text[self.at : self.at + 1] != ".":
                break
            self.at += 1
        return tuple(keys)

    def _resolve(self, keys: Path) -> Path:
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if path in self.arrays:
                path = (*path, self.arrays[path])
        return path

    def _header(self) -> None:
        line, many = self._line(), self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        keys = self._keys()
        if many:
            path = (*self._resolve(keys[:-1]), keys[-1])
            self.arrays[path] = self.arrays.get(path, -1) + 1
        self.table = self._resolve(keys)
        self.lines.setdefault(self.table, line)
        self.at = self.text.index("]", self.at) + (2 if many else 1)

    def _pair(self) -> None:
        line = self._line()
        path = self.table
        for key in self._keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self.at = self.text.index("=", self.at) + 1
        self._value()

    def _value(self) -> None:
        depth = 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "\"'":
                found = _STRING.match(self.text, self.at)
                self.at = found.end() if found else len(self.text)
                continue
            if char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
                continue
            if char == "\n" and depth == 0:
                return
            depth += (char in "[{") - (char in "]}")
            self.at += 1


def key_lines(text: str) -> Mapping[Path, int]:
    """Return the line, from 1, of every key and table header in a valid TOML text."""
    return _Scanner(text).run()


def line_of(lines: Mapping[Path, int], path: Path) -> int | None:
    """Return the line of ``path``, or of the nearest key around it."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


def show(path: Path) -> str:
    """Return ``run[0].args.a``."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).removeprefix(".")
