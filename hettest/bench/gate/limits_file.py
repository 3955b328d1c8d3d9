"""Reads the file of limits that a gate holds benchmarks to.

::

    format = 1
    [[limit]]
    benchmark = "tests/bench/test_conv.py::*"
    slower = 1.15                      # times what it took
    copies-at-most = 3
    bytes-at-most = "1 MiB"
    peak-memory-at-most = "64 MiB"     # on each device
    reason = "the tiles are chosen at random"

Whatever is wrong with the file is told with its line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from hettest.bench.gate.limits import BYTES, COPIES, PEAK_MEMORY, SLOWER, Limit, Limits
from hettest.case.lines import key_lines, line_of
from hettest.errors import Problem, UsageError
from hettest.files.reading import DocumentError, parse_toml, read_text
from hettest.limits import parse_bytes

FORMAT: Final = 1
_MOST: Final = {
    "copies-at-most": COPIES,
    "bytes-at-most": BYTES,
    "peak-memory-at-most": PEAK_MEMORY,
}
_KEYS: Final = ("benchmark", "slower", *_MOST, "reason")


def load(path: Path, slower: float = SLOWER) -> Limits:
    """Return the limits of a file; ``slower`` is for benchmarks that it says nothing of.

    Raises:
        UsageError: It cannot be read, or is no file of limits; one line for each problem.
    """
    try:
        text = read_text(path, "the limits")
        data = parse_toml(text, path)
    except DocumentError as error:
        raise UsageError(str(error)) from error
    lines = key_lines(text)
    wrong = [
        str(Problem(str(path), line_of(lines, key), where, message))
        for key, where, message in _violations(data)
    ]
    if wrong:
        raise UsageError("\n".join(wrong))
    entries = (
        _limit(entry, str(path), line_of(lines, ("limit", number)))
        for number, entry in enumerate(data["limit"])
    )
    return Limits(tuple(entries), slower)


def _limit(entry: Mapping[str, Any], file: str, line: int | None) -> Limit:
    return Limit(
        benchmark=entry["benchmark"],
        slower=entry.get("slower"),
        most={what: _size(entry[key]) for key, what in _MOST.items() if key in entry},
        reason=entry.get("reason", ""),
        file=file,
        line=line,
    )


def _size(found: int | str) -> int:
    return parse_bytes(found) if isinstance(found, str) else found


_Violation = tuple[tuple[str | int, ...], str, str]


def _violations(data: Mapping[str, Any]) -> Iterator[_Violation]:
    """Yield the path of each key at fault, how it is called, and what is wrong there."""
    if data.get("format") != FORMAT:
        found = f"found {data['format']!r}" if "format" in data else "is missing"
        yield ("format",), "format", f"{found}, expected format = {FORMAT}"
    for key in data.keys() - {"format", "limit"}:
        yield (key,), key, _unknown(key, ("format", "limit"))
    entries = data.get("limit", [])
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        yield ("limit",), "limit", "expected tables, each headed [[limit]]"
        return
    if not entries:
        yield ("limit",), "limit", "there is none, expected at least one [[limit]]"
    for number, entry in enumerate(entries):
        for key, message in _wrong(entry):
            yield ("limit", number, key), f"limit[{number}].{key}", message


def _wrong(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in entry.keys() - set(_KEYS):
        yield key, _unknown(key, _KEYS)
    if "benchmark" not in entry:
        yield "benchmark", 'is missing; "*" is for all of them'
    if not entry.keys() & {"slower", *_MOST}:
        yield "benchmark", f"limits nothing, expected one of slower, {', '.join(_MOST)}"
    if "slower" in entry and "reason" not in entry:
        yield "reason", "is missing: say why this benchmark may be slower than others"
    for key, value in entry.items():
        message = _wrong_value(key, value)
        if message:
            yield key, message


def _wrong_value(key: str, value: Any) -> str:
    match key:
        case "benchmark" | "reason":
            sound = isinstance(value, str) and bool(value.strip())
            return "" if sound else f"found {value!r}, expected a text"
        case "slower":
            sound = _is_number(value) and 1 < value < math.inf
            return "" if sound else f"found {value!r}, expected a number above 1, such as 1.10"
        case "copies-at-most":
            return "" if _is_count(value) else f"found {value!r}, expected a number of copies"
        case "bytes-at-most" | "peak-memory-at-most":
            return _wrong_size(value)
    return ""


def _wrong_size(value: Any) -> str:
    if _is_count(value):
        return ""
    try:
        parse_bytes(value if isinstance(value, str) else "")
    except UsageError:
        return f'found {value!r}, expected a number of bytes, or a size such as "64 MiB"'
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _unknown(key: str, known: Sequence[str]) -> str:
    close = get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the keys here are {', '.join(known)}"
    return f"is no key of this table; {hint}"
