"""What the words of the first page mean, for whoever meets them there first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

MEANINGS: Final = {
    "advisory": "a difference that is shown, and does not fail the item",
    "anchor": "the CPU-only run beside evaluations with random rounding, as far as those spread",
    "excused": "needs a word that the backend does not declare",
    "local": "each operator's result, beside the oracle's on the same operands",
    "loosened": "wider than half a unit in the last place, for the reason that is given",
    "neither": "neither passed nor excused: these keep the level from being reached",
    "ratio": "the error of the placed run as a part of that of the CPU-only run",
    "undecided": "the oracle cannot tell the one right value, so nothing was compared there",
    "unproven": "a clause that nothing which the backend shows could prove",
    "vacuous": "a bound so wide that every result keeps it: it proves nothing",
}


def legend(lines: Iterable[str]) -> Iterator[str]:
    """Yield what each of these words means that the lines use."""
    used = set(re.findall(r"[a-z]+", "\n".join(lines)))
    yield from (f"{word}: {meaning}" for word, meaning in MEANINGS.items() if word in used)
