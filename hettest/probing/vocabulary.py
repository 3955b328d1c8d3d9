"""The capability words that there are, and what is wrong with a claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from hettest.expect.claims import FIELDS
from hettest.language import DTYPES, operators

CONSTRUCTS: Final = (
    *("if", "match", "adt", "closure", "function", "recursion", "tuple", "weights"),
)
SHAPES: Final = ("symbolic", "unknown-dim", "unknown-rank", "data-dependent")
POLICIES: Final = ("copy", "replicate", "error")
OBSERVATIONS: Final = (
    *(word.partition(":")[2] for word in FIELDS),
    *("bytes", "perturbation"),
)


def vocabulary() -> Mapping[str, tuple[str, ...]]:
    """Return the names that each area has; any name stands after ``device``."""
    return {
        "device": (),
        "op": tuple(operators()),
        "dtype": tuple(DTYPES),
        "construct": CONSTRUCTS,
        "shape": SHAPES,
        "policy": POLICIES,
        "observe": OBSERVATIONS,
        "input": ("hir", "json", "onnx"),
        "diagnostics": ("line", "codes", "data"),
        "semantics": ("pinned",),
        "mode": ("direct",),
    }


def wrong_claims(claims: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with each claim that covers no word there is."""
    known = vocabulary()
    for claim in sorted(claims):
        area, colon, names = claim.removeprefix("-").partition(":")
        if area not in known or not colon:
            near = get_close_matches(area, known, n=1)
            yield f"{claim!r} is no word: {_meant(near) or 'areas are ' + ', '.join(known)}"
        elif area != "device":
            yield from _wrong_names(claim, area, names, known[area])


def _wrong_names(claim: str, area: str, names: str, known: tuple[str, ...]) -> Iterator[str]:
    head, _, last = names.rpartition(":")
    narrowed = bool(head)
    for name in head.split("|") if narrowed else last.split("|"):
        if not any(fnmatchcase(word, name) for word in known):
            near = get_close_matches(name, known, n=1)
            yield f"{claim!r} covers no {area}: {name!r}{_hint(near, known)}"
    if narrowed and area != "op":
        yield f"{claim!r} is narrowed by {last!r}; only op: words are, by a dtype"
    elif narrowed:
        for dtype in last.split("|"):
            if not any(fnmatchcase(word, dtype) for word in DTYPES):
                near = get_close_matches(dtype, DTYPES, n=1)
                yield f"{claim!r} names no dtype: {dtype!r}{_hint(near, tuple(DTYPES))}"


def _meant(near: list[str]) -> str:
    return f"did you mean {near[0]}?" if near else ""


def _hint(near: list[str], known: tuple[str, ...]) -> str:
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there are {', '.join(known)}" if len(known) <= 20 else ""
