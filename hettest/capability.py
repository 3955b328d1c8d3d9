"""Capability words: what a backend claims, and what an item requires.

A word is ``area:name``, and may be narrowed by further parts: ``op:add``, ``op:add:f16``. A claim
is a word or a pattern with ``*``; a claim covers every narrower word, so ``op:add`` covers
``op:add:f16``. Alternatives in a claim's last part are joined by ``|``: ``construct:if|tuple``. A
claim that begins with ``-`` takes words away again: ``op:*`` and ``-op:det`` is all but ``det``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

OBSERVATIONS = ("observe:placement", "observe:copies", "observe:bytes")
"""Words without which values can still be judged: the item runs, and is unproven."""

PINNED = "semantics:pinned"
"""Claimed by who shares the meanings that only we have pinned; for others those are advisory."""


def covers(claim: str, word: str) -> bool:
    """Whether ``claim``, a word or a pattern, includes ``word``."""
    return any(
        fnmatchcase(prefix, pattern)
        for pattern in _alternatives(claim)
        for prefix in _prefixes(word)
    )


def missing(required: Iterable[str], claimed: Collection[str]) -> tuple[str, ...]:
    """Return the required words that no claim covers, in order, each once."""
    claims = frozenset(claimed)
    return tuple(w for w in dict.fromkeys(required) if not _covered(w, claims))


@lru_cache(maxsize=4096)
def _covered(word: str, claims: frozenset[str]) -> bool:
    if any(claim.startswith("-") and covers(claim[1:], word) for claim in claims):
        return False
    return word in claims or any(covers(claim, word) for claim in claims)


def _alternatives(claim: str) -> Iterator[str]:
    head, colon, last = claim.rpartition(":")
    for alternative in last.split("|"):
        yield f"{head}{colon}{alternative}"


def _prefixes(word: str) -> Iterator[str]:
    parts = word.split(":")
    for end in range(len(parts), 1, -1):
        yield ":".join(parts[:end])
