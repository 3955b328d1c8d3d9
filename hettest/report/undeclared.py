"""What is not claimed, word by word, and how many items that costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from hettest.outcome import Outcome, Record


@final
@dataclass(frozen=True, slots=True)
class Lack:
    """A word that is not declared."""

    word: str
    items: int
    first: str


def lacks(records: Iterable[Record]) -> tuple[Lack, ...]:
    """Return what the unsupported items lack, word by word, that of the most items first."""
    by_word: dict[str, list[str]] = {}
    for record in records:
        if record.outcome is Outcome.UNSUPPORTED and record.counted:
            for word in record.lacks or (record.reason,):
                by_word.setdefault(word, []).append(record.id)
    found = (Lack(word, len(ids), ids[0]) for word, ids in by_word.items())
    return tuple(sorted(found, key=lambda lack: -lack.items))
