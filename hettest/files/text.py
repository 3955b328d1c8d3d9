r"""What text may hold that leaves the kit: what every form of report, and every terminal, can show.

A reason, a folder's name or a message of a backend may hold anything: half of a surrogate pair,
which no file in UTF-8 can hold; a control character, with which XML is not well formed; an escape
sequence, with which a terminal moves its cursor and shows lines that nobody wrote; a mark that
turns the direction of what follows; a line of a gigabyte. What cannot be shown is written as Python
writes it, so that it can still be told what it was::

    printable("\ud800")           \ud800
    printable("\x1b[31mred")      red              colours say nothing
    printable("\x1b]0;title")     \x1b]0;title
    printable("user\u202egnp")    user\u202egnp

All of it is done once: ``printable(printable(text))`` is ``printable(text)``.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any, Final, TypeVar, cast

LONGEST: Final = 8192
"""Characters of one line; what is longer keeps its two ends and says how much is not shown."""

MOST: Final = 1 << 20
"""Characters of one text, likewise."""

_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
_NOT_SHOWN: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\ud800-\udfff"  # halves of surrogate pairs
    "\u2028\u2029"  # ends of lines to some readers, and not to others
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of writing
    "\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # not seen at all
    "\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0001ffff"  # no characters
    "\U0002fffe\U0002ffff\U0003fffe\U0003ffff\U0004fffe\U0004ffff\U0005fffe\U0005ffff"
    "\U0006fffe\U0006ffff\U0007fffe\U0007ffff\U0008fffe\U0008ffff\U0009fffe\U0009ffff"
    "\U000afffe\U000affff\U000bfffe\U000bffff\U000cfffe\U000cffff\U000dfffe\U000dffff"
    "\U000efffe\U000effff\U000ffffe\U000fffff\U0010fffe\U0010ffff"
    "]"
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_FOLDERS: Final = re.compile(r"[^A-Za-z0-9._+-]+")
_T = TypeVar("_T")


def printable(text: str) -> str:
    """Return ``text``, of one line or several, with nothing in it that cannot be shown."""
    if text.isascii() and text.isprintable() and len(text) <= LONGEST:
        return text
    short = _short(text)  # at first, so that little is left to look at
    return _short(escaped(_COLOURS.sub("", short.replace("\r\n", "\n"))))


def one_line(text: str) -> str:
    r"""Return ``text`` as `printable` does, with ``\n`` in place of each end of a line."""
    return printable(text.replace("\r\n", "\n").replace("\n", "\\n"))


def escaped(text: str) -> str:
    """Return all of ``text``, colours too, with escapes for what cannot be shown."""
    return _NOT_SHOWN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\u{code:04x}" if code > 0xFF else f"\\x{code:02x}"


def _short(text: str) -> str:
    return "\n".join(_shortened(line, LONGEST) for line in _shortened(text, MOST).split("\n"))


def _shortened(text: str, longest: int) -> str:
    """Return the two ends of a text, with the number of characters between them."""
    if len(text) <= longest:
        return text
    end = longest // 2 - 32  # what is put in between is shorter than twice that
    return f"{text[:end]} [{len(text) - 2 * end} characters more] {text[-end:]}"


def encodable(text: str) -> str:
    """Return ``text`` with nothing in it that UTF-8 lacks."""
    return text if text.isascii() else _SURROGATE.sub(_escaped, text)


def cleaned(data: _T, clean: Callable[[str], str] = printable) -> _T:
    """Return plain data or a dataclass with ``clean`` done to every text in it, keys included."""
    return cast("_T", _cleaned(data, clean))


def _cleaned(data: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(data, Enum) or data is None:
        return data
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, Mapping):
        return {_cleaned(key, clean): _cleaned(value, clean) for key, value in data.items()}
    if isinstance(data, PurePath):
        return type(data)(clean(str(data)))
    if isinstance(data, list | set | frozenset) or type(data) is tuple:
        return type(data)(_cleaned(value, clean) for value in data)
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        return _cleaned_fields(data, clean)
    return data


def _cleaned_fields(data: Any, clean: Callable[[str], str]) -> Any:
    """Return a dataclass with clean fields; the same one if nothing had to be cleaned."""
    changed = {}
    for field in dataclasses.fields(data):
        if field.init:
            value = getattr(data, field.name)
            found = _cleaned(value, clean)
            if found is not value and found != value:
                changed[field.name] = found
    return dataclasses.replace(data, **changed) if changed else data


def json_text(data: Any, *, indent: int | None = 1, sort_keys: bool = False) -> str:
    r"""Return plain data as strict JSON that is exact and shows all it holds: ``\\u202e``.

    Raises:
        ValueError: It holds a number that JSON has not; see `finite`.
    """
    text = json.dumps(data, indent=indent, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False)
    return _NOT_SHOWN.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def finite(data: Any) -> Any:
    """Return plain data with ``None`` in place of each number that JSON has not."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: finite(value) for key, value in data.items()}
    return list(map(finite, data)) if isinstance(data, list | tuple) else data


def toml_string(text: str) -> str:
    r"""Return ``text`` as a string of TOML that shows all it holds; TOML has no half pairs."""
    shown = json.dumps(encodable(text), ensure_ascii=False)
    return _NOT_SHOWN.sub(_toml_escape, shown)


def _toml_escape(found: re.Match[str]) -> str:
    return f"\\U{ord(found[0]):08x}"


def file_name(text: str, otherwise: str) -> str:
    """Return ``text`` as the name of one file: no separator, no blank, no hidden file, not long.

    Args:
        text: What comes from outside: a commit, a machine's name.
        otherwise: The name if nothing is left of it.
    """
    return _FOLDERS.sub("_", text)[:100].strip("._-+") or otherwise
