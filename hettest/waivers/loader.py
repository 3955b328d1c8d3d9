"""Reads a waiver file; whatever is wrong with it is told with the line it stands on."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from hettest.case.lines import key_lines, line_of
from hettest.errors import Problem, UsageError
from hettest.files.reading import DocumentError, parse_toml, read_text
from hettest.waivers.model import KINDS, STAGES, Waiver, Waivers

FORMAT: Final = 1
_KEYS: Final = tuple(f.name for f in fields(Waiver) if f.name not in ("file", "line"))
_OPTIONAL: Final = ("issue", "devices")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {"stage": STAGES, "kind": KINDS}


def load(path: Path) -> Waivers:
    """Return the waivers of a file.

    Raises:
        UsageError: It cannot be read, or is no waiver file; has one line for each problem.
    """
    try:
        text = read_text(path, "the waivers")
    except DocumentError as error:
        raise UsageError(str(error)) from error
    return parse(text, str(path))


def parse(text: str, file: str) -> Waivers:
    """Return the waivers that a text holds, which stands in ``file``.

    Raises:
        UsageError: It is no waiver file; has one line for each problem.
    """
    try:
        data = parse_toml(text, file)
    except DocumentError as error:
        raise UsageError(str(error)) from error
    lines = key_lines(text)
    wrong = [
        str(Problem(file, line_of(lines, path), where, message))
        for path, where, message in _violations(data)
    ]
    if wrong:
        raise UsageError("\n".join(wrong))
    entries = enumerate(data.get("waiver", ()))
    return Waivers(
        tuple(Waiver(**e, file=file, line=line_of(lines, ("waiver", i))) for i, e in entries)
    )


_Violation = tuple[tuple[str | int, ...], str, str]


def _violations(data: Mapping[str, Any]) -> Iterator[_Violation]:
    """Yield the path of each key at fault, how it is called, and what is wrong there."""
    if data.get("format") != FORMAT:
        found = f"found {data['format']!r}" if "format" in data else "is missing"
        yield ("format",), "format", f"{found}, expected format = {FORMAT}"
    for key in data.keys() - {"format", "waiver"}:
        yield (key,), key, _unknown(key, ("format", "waiver"))
    entries = data.get("waiver", [])
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        yield ("waiver",), "waiver", "expected tables, each headed [[waiver]]"
        return
    for number, entry in enumerate(entries):
        for key, message in _wrong(entry):
            yield ("waiver", number, key), f"waiver[{number}].{key}", message
    yield from _twice(entries)


def _wrong(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in entry.keys() - set(_KEYS):
        yield key, _unknown(key, _KEYS)
    for key in _KEYS:
        if key not in entry:
            if key not in _OPTIONAL:
                yield key, "is missing"
            continue
        message = _wrong_value(key, entry[key])
        if message is not None:
            yield key, message
    if entry.get("kind") == "pending" and not entry.get("issue"):
        yield "issue", "is missing: a pending waiver names the issue that it waits for"


def _wrong_value(key: str, value: Any) -> str | None:
    if key == "expires":
        is_date = type(value) is datetime.date
        return None if is_date else f"found {value!r}, expected a date such as 2027-03-01"
    if not isinstance(value, str):
        return f"found {value!r}, expected a text"
    if not value.strip() and key not in _OPTIONAL:
        return "is empty"
    choices = _CHOICES.get(key, (value,))
    if value not in choices:
        return f"found {value!r}, expected one of {', '.join(choices)}"
    if key == "devices" and any("=" not in part for part in value.split(",") if part.strip()):
        return f"found {value!r}, expected role=device such as accel=cuda:*"
    return None


def _unknown(key: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the keys here are {', '.join(known)}"
    return f"is no key of this table; {hint}"


def _twice(entries: list[dict[str, Any]]) -> Iterator[_Violation]:
    seen: dict[tuple[Any, ...], int] = {}
    for number, entry in enumerate(entries):
        key = tuple(str(entry.get(name, "")) for name in ("case", "stage", "devices"))
        first = seen.setdefault(key, number)
        if first != number:
            where = f"waiver[{number}]"
            yield ("waiver", number), where, f"has the case, stage and devices of waiver[{first}]"
