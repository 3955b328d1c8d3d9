"""Reads documents that others wrote, JSON and TOML: the one door through which they come in.

What it lets in can be handled by everything behind it: nested to a bounded depth, of a bounded
size, each key once, each number one that 64 bits hold. `json` and `tomllib` let in more, and what
they do not fails there in ways that name no place: an integer of 5,000 digits, a thousand brackets.

====================  ==============================================================
a number of JSON      finite; integers to `DIGITS` digits. ``1e400``: refused, and so is
                      ``NaN`` but of tools that are known to write it
a number of TOML      likewise, but ``inf`` and ``nan`` may be written as words
a time                between `FIRST` and `LAST`, by `time_of` and `time_at`
====================  ==============================================================
"""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NoReturn, final

from hettest.errors import HettestError, Problem

MOST_BYTES: Final = 512 * 1024 * 1024
_BLOCK: Final = 1 << 20
"""Bytes that are asked of the system at once."""

DEPTH: Final = 100
DIGITS: Final = 40
FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LAST: Final = datetime(2262, 1, 1, tzinfo=UTC)
"""Times of which nanoseconds fit 64 bits."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+')
_TOML_PLACE: Final = re.compile(r" \(at line (\d+), column \d+\)$")


@final
class DocumentError(HettestError, ValueError):
    """A document from outside is malformed, or not there."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _Refused(ValueError):
    """Part of a document is not let in."""

    def __init__(self, token: str, message: str) -> None:
        super().__init__(message)
        self.token = token
        """As it is written."""


def read_text(path: Path, what: str = "") -> str:
    """Return the text of a file in UTF-8; ``what`` it is, messages say.

    Raises:
        DocumentError: There is none, it is too large, or it is no UTF-8; with the line.
    """
    return decoded(read_bytes(path, what), path)


def read_bytes(path: Path, what: str = "") -> bytes:
    """Return what a file holds, up to `MOST_BYTES`, which a device such as ``/dev/zero`` exceeds.

    Raises:
        DocumentError: There is none, it is too large, or a pipe that may wait forever.
    """
    try:
        if _is_named_pipe(path):
            _refuse(path, None, f"{what} cannot be read: found a pipe, expected a file".lstrip())
        data = _all_of(path)
    except (OSError, MemoryError) as error:
        told = getattr(error, "strerror", None) or str(error) or "there is not memory enough"
        _refuse(path, None, f"{what} cannot be read: {told}".lstrip(), error)
    except ValueError as error:  # a null byte in the name
        if isinstance(error, DocumentError):
            raise
        _refuse(path, None, f"{what} cannot be read: {error}".lstrip(), error)
    if len(data) > MOST_BYTES:
        _refuse(path, None, f"found a file of more than {MOST_BYTES} bytes")
    return data


def _all_of(path: Path) -> bytes:
    """Return what a file holds, and no more than a block beyond what it may hold."""
    data = bytearray()
    with path.open("rb", buffering=0) as file:
        while len(data) <= MOST_BYTES and (block := file.read(_BLOCK)):
            data += block
    return bytes(data)


def _is_named_pipe(path: Path) -> bool:
    """Whether it is a pipe in a folder; what the shell hands over as ``<(…)`` has its writer."""
    return stat.S_ISFIFO(path.stat().st_mode) and path.parts[1:2] not in (("dev",), ("proc",))


def decoded(data: bytes, name: str | Path) -> str:
    """Return the text that ``data`` are in UTF-8.

    Raises:
        DocumentError: They are none; with the line.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _refuse(name, line, f"byte {data[error.start]:#04x} is not UTF-8", error)


def parse_json(text: str, name: str | Path, *, words: bool = False) -> Any:
    """Return the data of a JSON text.

    Args:
        text: All of it.
        name: What messages call it.
        words: Whether ``NaN`` and ``Infinity`` are numbers, for documents of tools that write them.

    Raises:
        DocumentError: It is no JSON, or more than this lets in; with the line.
    """
    try:
        data = json.loads(
            text,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=float if words else _no_number,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        _refuse(name, error.lineno, f"found no JSON: {error.msg}", error)
    except _Refused as error:
        _refuse(name, _line_of(text, error.token), str(error), error)
    except RecursionError as error:
        _refuse(name, None, _too_deep(), error)
    _check_depth(data, name)
    return data


def parse_toml(text: str, name: str | Path) -> dict[str, Any]:
    """Return the data of a TOML text.

    Raises:
        DocumentError: It is no TOML, or more than this lets in; with the line.
    """
    import tomllib

    try:
        data = tomllib.loads(text, parse_float=_toml_number)
    except _Refused as error:
        _refuse(name, _line_of(text, error.token), str(error), error)
    except ValueError as error:  # TOMLDecodeError, and integers of thousands of digits
        found = _TOML_PLACE.search(str(error))
        message = _TOML_PLACE.sub("", str(error))
        if "digits" in message and found is None:
            _refuse(name, _long_integer(text), _too_long(), error)
        _refuse(name, int(found[1]) if found else None, message, error)
    except (RecursionError, OverflowError) as error:
        _refuse(name, None, _too_deep() if isinstance(error, RecursionError) else str(error), error)
    _check_depth(data, name)
    for value in _leaves(data):
        if type(value) is int and abs(value) >= 10**DIGITS:
            _refuse(name, _line_of(text, str(value)), _too_long())
    return data


def time_of(text: str) -> datetime:
    """Return the time that a text such as ``2027-03-01T12:00`` says; without a zone, in UTC.

    Raises:
        ValueError: It says none, or one that is not between `FIRST` and `LAST`.
    """
    try:
        when = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise ValueError(f"found {text!r}, expected a time such as 2027-03-01T12:00") from None
    return _bounded(when if when.tzinfo else when.replace(tzinfo=UTC), text)


def time_at(milliseconds: float) -> datetime:
    """Return the time so many milliseconds after 1970 began.

    Raises:
        ValueError: It is not between `FIRST` and `LAST`; microseconds, maybe.
    """
    try:
        when = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        when = None
    if when is None or not FIRST <= when < LAST:
        raise ValueError(
            f"found {milliseconds:g}, expected milliseconds since 1970, at most "
            f"{LAST.timestamp() * 1000:.0f}; are these microseconds?"
        )
    return when


def _bounded(when: datetime, text: str) -> datetime:
    if not FIRST <= when < LAST:
        raise ValueError(f"found {text!r}, expected a time from {FIRST.year} to {LAST.year - 1}")
    return when


def _refuse(
    name: str | Path, line: int | None, message: str, cause: BaseException | None = None
) -> NoReturn:
    raise DocumentError(Problem(str(name), line, "", message)) from cause


def _integer(text: str) -> int:
    if len(text) > DIGITS:
        raise _Refused(text, _too_long())
    return int(text)


def _number(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise _Refused(text, f"found {text[:40]}, expected a number that 64 bits hold")
    return found


def _no_number(text: str) -> NoReturn:
    raise _Refused(text, f"found {text}, expected a finite number, which JSON has alone")


def _toml_number(text: str) -> float:
    return float(text) if text.lstrip("+-") in ("inf", "nan") else _number(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Refused(json.dumps(twice), f"found the key {twice!r} twice, expected each once")
    return found


def _too_long() -> str:
    return f"found an integer of more than {DIGITS} digits, expected one that 64 bits hold"


def _too_deep() -> str:
    return f"is nested too deeply, expected at most {DEPTH} levels"


def _check_depth(data: Any, name: str | Path) -> None:
    level = [data]
    for _ in range(DEPTH + 1):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return
    _refuse(name, None, _too_deep())


def _containers(data: Any) -> list[Any]:
    inner: Iterable[Any] = data.values() if isinstance(data, dict) else data
    if not isinstance(data, dict | list):
        return []
    return [one for one in inner if isinstance(one, dict | list)]


def _leaves(data: Any) -> Iterable[Any]:
    rest = [data]
    while rest:
        one = rest.pop()
        if isinstance(one, Mapping):
            rest += one.values()
        elif isinstance(one, list):
            rest += one
        else:
            yield one


def _line_of(text: str, token: str) -> int | None:
    """Return the line on which a token stands the last time, where keys stand a second time."""
    found = None
    for match in _TOKEN.finditer(text):
        if match[0] == token:
            found = match.start()
            if not token.startswith('"'):
                break
    return None if found is None else text.count("\n", 0, found) + 1


def _long_integer(text: str) -> int | None:
    found = re.search(rf"[0-9_]{{{DIGITS + 1},}}", text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


__all__ = [
    "DocumentError",
    "decoded",
    "parse_json",
    "parse_toml",
    "read_bytes",
    "read_text",
    "time_at",
    "time_of",
]
