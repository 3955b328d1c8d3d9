"""Capability words: what a backend claims, and what an item requires.

A word is ``area:name``, and may be narrowed by further parts: ``op:add``, ``op:add:f16``. A claim
is a word or a pattern with ``*``; a claim covers every narrower word, so ``op:add`` covers
``op:add:f16``. Alternatives in a claim's last part are joined by ``|``: ``construct:if|tuple``. A
claim that begins with ``-`` takes words away again: ``op:*`` and ``-op:det`` is all but ``det``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, final

OBSERVATIONS = ("observe:placement", "observe:copies", "observe:bytes")
"""Words without which values can still be judged: the item runs, and is unproven."""

PINNED = "semantics:pinned"
"""Claimed by who shares the meanings that only we have pinned; for others those are advisory."""


_WILD: Final = frozenset("*?[")
"""Characters with which a claim is a pattern."""


def covers(claim: str, word: str) -> bool:
    """Whether ``claim``, a word or a pattern, includes ``word``."""
    return _Claims.of([claim]).cover(word)


def missing(required: Iterable[str], claimed: Collection[str]) -> tuple[str, ...]:
    """Return the required words that no claim covers, in order, each once."""
    claims = frozenset(claimed)
    return tuple(w for w in dict.fromkeys(required) if not _covered(w, claims))


@lru_cache(maxsize=4096)
def _covered(word: str, claims: frozenset[str]) -> bool:
    given, taken = _sorted(claims)
    return not taken.cover(word) and (word in claims or given.cover(word))


@lru_cache(maxsize=16)
def _sorted(claims: frozenset[str]) -> tuple[_Claims, _Claims]:
    """Return what the claims give, and what those with a ``-`` take away again."""
    taken = [claim[1:] for claim in claims if claim.startswith("-")]
    return _Claims.of(claims), _Claims.of(taken)


@final
@dataclass(frozen=True)
class _Claims:
    """Claims, in which a word is found at once however many there are; patterns are tried."""

    words: frozenset[str]
    patterns: tuple[str, ...]

    @classmethod
    def of(cls, claims: Iterable[str]) -> _Claims:
        each = {alternative for claim in claims for alternative in _alternatives(claim)}
        patterns = {alternative for alternative in each if _WILD & set(alternative)}
        return cls(frozenset(each - patterns), tuple(patterns))

    def cover(self, word: str) -> bool:
        prefixes = tuple(_prefixes(word))
        return any(prefix in self.words for prefix in prefixes) or any(
            fnmatchcase(prefix, pattern) for pattern in self.patterns for prefix in prefixes
        )


def _alternatives(claim: str) -> Iterator[str]:
    head, colon, last = claim.rpartition(":")
    for alternative in last.split("|"):
        yield f"{head}{colon}{alternative}"


def _prefixes(word: str) -> Iterator[str]:
    parts = word.split(":")
    for end in range(len(parts), 1, -1):
        yield ":".join(parts[:end])
