"""What a device has done since it was opened: counted by the device, whoever asked it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import final


@final
@dataclass(slots=True)
class Ledger:
    """What crossed the border of a device, and what ran on it, since it was opened.

    The host has no border to its own memory: what lies there already crosses nothing. A look at
    memory (`DeviceApi.peek`) is not counted.
    """

    copies: Counter[str] = field(default_factory=Counter)
    """By direction: ``in``, ``out``, ``within``."""

    bytes: Counter[str] = field(default_factory=Counter)
    launches: int = 0

    def note(self, direction: str, nbytes: int) -> None:
        self.copies[direction] += 1
        self.bytes[direction] += nbytes
