"""One case file, several items: every combination of the sweep's values, filled in.

For ``[sweep]`` with ``dtype = ["f32", "i32"]``, each ``${dtype}`` in the program, the runs and the
expectations becomes ``f32`` in the first combination and ``i32`` in the second. A text that is
nothing but ``${name}`` becomes the value itself, a number or a list too. A table instead of a list
gives its values names of their own for the ids. Such a value may be a row, a table that says
several things at once: ``${name.x.dtype}`` is what it has there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any, Final

MOST: Final = 1000
"""Combinations of one file."""

_OF_IDS: Final = ",=[]\n"
"""What parts ids, and so cannot stand in the word of a value."""

_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_HOLE = re.compile(rf"\$\{{({_NAME}(?:\.{_NAME})*)\}}")


def combinations(sweep: Mapping[str, Any]) -> Iterator[Mapping[str, tuple[str, Any]]]:
    """Yield each combination: by name, the value's word in ids and the value."""
    choices = [
        [(name, (word, value)) for word, value in _named_values(values)]
        for name, values in sweep.items()
    ]
    for combination in product(*choices):
        yield dict(combination)


def wrong_sweep(sweep: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is wrong with ``[sweep]``: the path of the key inside it, and the message."""
    if not isinstance(sweep, dict):
        yield (), "found no table, expected [sweep]"
        return
    for name, values in sweep.items():
        if not isinstance(values, list | dict):
            yield (
                (name,),
                f"found {values!r}, expected a list of values, or a table that names them",
            )
            continue
        if isinstance(values, list) and any(isinstance(value, dict) for value in values):
            yield (name,), f"has rows without names; write [sweep.{name}] and a name for each"
            continue
        words = [word for word, _ in _named_values(values)]
        twice = next((word for word in words if words.count(word) > 1), None)
        if not words:
            yield (name,), "has no values, so that there would be no items"
        elif twice is not None:
            yield (name,), f"has {twice} twice"
        else:
            yield from (((name,), message) for message in _unfit(name, words))
    count = prod(len(v) for v in sweep.values() if isinstance(v, list | dict))
    if count > MOST:
        yield (), f"gives {count} combinations, expected at most {MOST}; part the file"


def _unfit(name: str, words: list[str]) -> Iterator[str]:
    """Yield the words that would make ids of which one reads as another."""
    for word in words:
        if set(word) & set(_OF_IDS):
            yield (
                f"has {word!r}, whose ids could be taken for others; "
                f"write [sweep.{name}] and a name for it"
            )


def fill(value: Any, values: Mapping[str, Any]) -> Any:
    """Return ``value`` with each ``${name}`` and ``${name.field}`` inside it replaced.

    Raises:
        KeyError: A name is not one of the sweep's, or a row has no such field, or a whole row
            stands within a text.
    """
    if isinstance(value, str):
        whole = _HOLE.fullmatch(value)
        if whole:
            return _value_of(whole[1], values)
        return _HOLE.sub(lambda hole: _written(hole[1], values), value)
    if isinstance(value, dict):
        return {key: fill(inner, values) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill(inner, values) for inner in value]
    return value


def _value_of(name: str, values: Any) -> Any:
    found = values
    for field in name.split("."):
        found = found.get(field) if isinstance(found, Mapping) else None
    if found is None:
        raise KeyError(name)
    return found


def _written(name: str, values: Any) -> str:
    found = _value_of(name, values)
    if isinstance(found, dict):
        raise KeyError(name)
    return _text_of(found)


def _text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _named_values(values: Any) -> list[tuple[str, Any]]:
    if isinstance(values, dict):
        return list(values.items())
    return [(_word(v), v) for v in values]


def _word(value: Any) -> str:
    if isinstance(value, list):
        return "x".join(map(_word, value)) or "0d"
    return _text_of(value)
