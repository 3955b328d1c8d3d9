"""A JSON file with the line of each of its keys, so that whatever is wrong with it can be found.

::

    document = Document.load(path, "expected a file of pytest-benchmark")
    document.check(SCHEMA)                          # raises StoredError, each problem with its line
    document.wrong(("benchmarks", 3), "found no name")
    document.require_sound()                        # raises what was found wrong
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from hettest.case.json_lines import json_key_lines
from hettest.case.lines import Path as Key
from hettest.case.lines import line_of, show
from hettest.errors import HettestError, Problem
from hettest.files.reading import DocumentError, parse_json, read_text, time_at

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


@final
class StoredError(HettestError):
    """A file of measurements is malformed, or not there."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


@final
@dataclass
class Document:
    """One file, and what was found wrong with it."""

    path: Path
    text: str
    data: Any
    problems: list[Problem] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path, repair: str, *, before: str = "", words: bool = False) -> Document:
        """Return what the file holds, of any shape.

        Args:
            path: The file.
            repair: What was expected, for whoever gave another file.
            before: What stands before the JSON: of a script, ``window.DATA = ``.
            words: Whether the tool that wrote it writes ``NaN`` and ``Infinity``.

        Raises:
            StoredError: There is no such file, or it holds no JSON; with the line.
        """
        try:
            text = read_text(path)
            if before:
                text = _without(path, text, before)
            return cls(path, text, parse_json(text, path, words=words))
        except DocumentError as error:
            message = f"{error.problem.message}; {repair}"
            raise StoredError([replace(error.problem, message=message)]) from error

    def check(self, schema: Path) -> None:
        """Hold the data to a schema.

        Raises:
            StoredError: They have another shape; with line and key of each problem.
        """
        for error in validator(schema).iter_errors(self.data):
            self.wrong(tuple(error.absolute_path), error.message)
        self.require_sound()

    def wrong(self, key: Key, message: str) -> None:
        """Note that something is wrong with what stands at ``key``."""
        line = line_of(self._lines, key)
        self.problems.append(Problem(str(self.path), line, show(key), message))

    def time_at(self, key: Key, milliseconds: float) -> datetime | None:
        """Return the time that stands at ``key``; ``None`` if it is none, which is noted."""
        try:
            return time_at(milliseconds)
        except ValueError as error:
            self.wrong(key, str(error))
            return None

    def require_sound(self) -> None:
        """Raise `StoredError` if anything was found wrong."""
        if self.problems:
            raise StoredError(self.problems)

    @cached_property
    def _lines(self) -> Mapping[Key, int]:
        return json_key_lines(self.text)


def validator(schema: Path) -> Validator:
    """Return what holds data to the schema in a file."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(parse_json(read_text(schema), schema))


def _without(path: Path, text: str, before: str) -> str:
    """Return the text with blanks in place of what stands before the JSON, so that lines stay."""
    bare = text.lstrip()
    if not bare.startswith(before.strip()):
        message = f"found {bare[:30]!r} at the start, expected {before.strip()!r}"
        raise StoredError([Problem(str(path), 1, "", message)])
    start = len(text) - len(bare) + len(before.strip())
    blank = "".join(char if char == "\n" else " " for char in text[:start])
    return blank + text[start:].rstrip().removesuffix(";")
