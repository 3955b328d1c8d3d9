"""How values, places and sizes are written in an explained plan."""

from __future__ import annotations

from reference_vm.passes.explanation import Fact
from reference_vm.types import VirtualDevice


def variable(name: str, function: str) -> str:
    """Return ``%x`` for ``main/%x`` in ``main``, and the whole name in another function."""
    return name.removeprefix(f"{function}/")


def device(vdevice: VirtualDevice) -> str:
    """Return the role and the device: ``@accel (sim:0)``."""
    return f"{vdevice} ({vdevice.device})"


def size(count: int) -> str:
    """Return a number of bytes in the largest unit that leaves it at least 1."""
    if count < 1024:
        return f"{count} B"
    amount, units = float(count), iter(("KiB", "MiB", "GiB"))
    unit = "B"
    while amount >= 1024 and (larger := next(units, None)):
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}"


def fact(found: Fact) -> str:
    """Return what a fact says, and on which line it is written."""
    return found.text if found.line is None else f"{found.text} (line {found.line})"


def count(number: int, noun: str) -> str:
    """Return ``1 copy`` or ``2 copies``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def shortened(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` characters; its end says most, and is kept."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


__all__ = ["count", "device", "fact", "shortened", "size", "variable"]
