"""Numbers as people read them."""

from __future__ import annotations

from typing import Final

from hettest.outcome import Transfer

_DASH: Final = "\N{EN DASH}"
_TIMES: Final = "\N{MULTIPLICATION SIGN}"


def size(count: int) -> str:
    """Return a number of bytes: ``16 B``, ``12.4 kB``."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5 or unit == "GB":
            break
    return f"{value:.3g} {unit}"


def sizes(least: int | None, most: int | None) -> str:
    """Return a range of bytes, ``4 B to 1.2 kB``; empty if it is not known."""
    if least is None or most is None:
        return ""
    return size(least) if least == most else f"{size(least)} to {size(most)}"


def transfer_words(transfer: Transfer, least: int | None, most: int | None) -> tuple[str, str]:
    """Return a transfer's size for a drawing, and what it is, in full."""
    known = sizes(least, most)
    times = f" {_TIMES}{transfer.count}" if transfer.count > 1 else ""
    told = [known, transfer.cause or ""]
    told += [f"for {transfer.reader}"] if transfer.reader else []
    told += [f"{transfer.count} times"] if transfer.count > 1 else []
    about = ", ".join(filter(None, told))
    value = transfer.value or "a result"
    short = known.replace(" B to ", _DASH).replace(" to ", _DASH)
    return f"{short}{times}", f"{value}: {transfer.source} → {transfer.target}; {about}"


def part(worst: float | None) -> str:
    """Return an error as a part of what is allowed: ``0.042``, ``3.1e+06``, ``∞``."""
    if worst is None:
        return "∞"
    return "0" if worst == 0 else f"{worst:.2g}"


def duration(seconds: float) -> str:
    """Return a time: ``0.8 s``, ``3 min 20 s``."""
    if seconds < 99.5:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
