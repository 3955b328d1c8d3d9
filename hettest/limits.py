"""How long an item in a process of its own may take, and how much memory it may use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, final

from hettest.errors import UsageError

PATIENCE: Final = 600.0
"""Seconds that an item waits for a device that somebody else holds."""

_DIGITS: Final = 18
"""Of a count, which 64 bits hold then."""

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) *([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What ends an item as crashed, and when a process has served long enough."""

    seconds: float = 60.0
    """For one item, judging included."""

    memory: int | None = None
    """Bytes that the process and its own children may hold in memory; ``None`` for any number."""

    batch: int = 200
    """Items after which a process is replaced by a fresh one."""

    start: float = 120.0
    """Seconds for loading the backend and asking it for its devices; as long as an item may take
    if that is said."""


def parse_seconds(text: str) -> float:
    """Read a time limit, such as ``60`` or ``0.5``.

    Raises:
        UsageError: It is no number, or not above zero.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"found a time limit of {text}, expected seconds above 0, such as 60")
    return seconds


def parse_count(option: str, text: str) -> int:
    """Read a number of zero or more.

    Raises:
        UsageError: It is none; names the option.
    """
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"{option}={text}: expected a number such as 0 or 7")
    if len(text) > _DIGITS:
        raise UsageError(
            f"{option}={text[:_DIGITS]}…: expected a number of at most {_DIGITS} digits"
        )
    return int(text)


def parse_bytes(text: str) -> int:
    """Read ``2GiB``, ``512 MiB`` or a number of bytes; all units are powers of 1024.

    Raises:
        UsageError: It has another form, or is zero.
    """
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * 1024 ** _UNITS[found[2].upper()]) if found else 0
    if size <= 0:
        raise UsageError(f"found a memory limit of {text}, expected a size such as 2GiB")
    return size


def show_bytes(size: int, digits: int = 4) -> str:
    """Return the size in its largest fitting unit, to so many digits: ``1.5 GiB``."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.{digits}g} {unit}"
        size /= 1024  # type: ignore[assignment] # a fraction from here on
    return f"{size:.{digits}g} GiB"


def show_excess(size: int, allowed: int) -> str:
    """Return a size with digits enough to tell it from what is allowed: ``2.0001 GiB`` of 2."""
    shown = (show_bytes(size, digits) for digits in range(4, 20))
    return next(text for text in shown if text != show_bytes(allowed))
