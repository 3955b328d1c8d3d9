"""Which items show whether a capability word is kept: the smallest that need it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from hettest.capability import covers, missing
from hettest.case.expansion import Item
from hettest.outcome import UNPLACED

PROBED: Final = ("op", "dtype", "construct", "shape", "policy", "observe")
"""Areas of words that items need, and so can be tried."""

BY_EVERY_RUN: Final = (
    *("observe:memory", "observe:intermediates", "observe:profile"),
    *("observe:meter", "observe:spaces"),
)
"""Words that no item needs, and that every run keeps or breaks."""


@final
@dataclass(frozen=True)
class Choice:
    """A word, and the items that are run for it."""

    word: str
    declared: bool
    items: tuple[Item, ...]


def choices(
    needs: Mapping[str, tuple[str, ...]],
    items: Sequence[Item],
    claims: frozenset[str],
    each: int,
) -> Iterator[Choice]:
    """Yield each word that is claimed or could be, with the smallest items that need it.

    Args:
        needs: The words that each item requires, by its id.
        items: The items to choose from.
        claims: What the backend claims.
        each: How many items to choose for each word and device.
    """
    found: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: size(item, needs[item.id])):
        for word in needs[item.id]:
            if word.partition(":")[0] in PROBED:
                found.setdefault(word, []).append(item)
    for word in BY_EVERY_RUN:
        if not missing([word], claims):
            found[word] = sorted(items, key=lambda item: size(item, needs[item.id]))
    for word in sorted(found):
        declared = not missing(_needed(word), claims)
        if declared or is_computed(word):
            allowed = claims if declared else _without_denials(claims, word) | _with(word)
            able = (item for item in found[word] if not missing(needs[item.id], allowed))
            yield Choice(word, declared, tuple(_some(_alone(word, list(able)), each)))


def is_computed(word: str) -> bool:
    """Whether a word is about what is computed, and not about where: an operator, a dtype."""
    return word.partition(":")[0] in ("op", "dtype")


def _alone(word: str, items: list[Item]) -> list[Item]:
    """Return the items in which operators stand alone, of those for an operator or a dtype."""
    if not is_computed(word):
        return items
    return [item for item in items if item.case.level <= UNPLACED] or items


def size(item: Item, needs: tuple[str, ...]) -> tuple[int, int, int, str]:
    """Return what the smallest item has least of: level, words, text."""
    return item.case.level, len(needs), len(item.case.text), item.id


def _needed(word: str) -> tuple[str, ...]:
    """Return the words that must be claimed for a word to count as declared."""
    area, *names = word.split(":")
    return (word, *(f"dtype:{dtype}" for dtype in names[1:] if area == "op"))


def _without_denials(claims: frozenset[str], word: str) -> frozenset[str]:
    """Return the claims without those that take the word away."""
    return frozenset(
        claim
        for claim in claims
        if not (claim.startswith("-") and any(covers(claim[1:], w) for w in _needed(word)))
    )


def _with(word: str) -> frozenset[str]:
    """Return the word, and what else whoever lacks it will lack: the dtype of an operator's."""
    area, _, name = word.partition(":")
    return frozenset({word, f"op:*:{name}"} if area == "dtype" else _needed(word))


def _some(items: Iterable[Item], each: int) -> Iterator[Item]:
    """Yield the first items on each device, other than the host where there is another."""
    counts: dict[str, int] = {}
    for item in items:
        if item.case.refused or item.run is None:
            continue
        where = item.devices[-1]
        counts[where] = counts.get(where, 0) + 1
        if counts[where] <= each:
            yield item
