"""Results are nested as they should be: tuples in tuples, and arrays where arrays belong.

A value of a data type is a tuple that begins with its constructor's name.
"""

from __future__ import annotations

import numpy as np

from hettest.backend.nesting import leaves, rebuilt

__all__ = ["leaves", "misfit", "rebuilt"]


def misfit(found: object, wanted: object, place: str = "the result") -> str | None:
    """Return where ``found`` is nested otherwise than ``wanted``, or ``None``.

    Args:
        found: What a run returned.
        wanted: What it is held to; its leaves stand for arrays, but for the names of constructors.
        place: What the message calls ``found``.
    """
    stack = [(found, wanted, place)]
    while stack:
        one, other, where = stack.pop()
        wrong = _misfit(one, other)
        if wrong is not None:
            return f"{where} is {_called(one)}, expected {wrong}"
        if isinstance(one, tuple) and isinstance(other, tuple):
            pairs = enumerate(zip(one, other, strict=True))
            stack += reversed([(a, b, _inside(where, index)) for index, (a, b) in pairs])
    return None


_PLACE = 60
"""How long the place of a value gets; deeper inside it is not told."""


def _inside(place: str, index: int) -> str:
    return f"{place}[{index}]" if len(place) < _PLACE else place


def _misfit(found: object, wanted: object) -> str | None:
    """Return what was expected in place of ``found``, what is inside tuples aside."""
    if isinstance(wanted, str):
        return None if isinstance(found, str) and found == wanted else repr(wanted)
    if isinstance(wanted, tuple):
        fits = isinstance(found, tuple) and len(found) == len(wanted)
        return None if fits else _called(wanted)
    return None if isinstance(found, np.ndarray) else "an array"


def _called(value: object) -> str:
    if isinstance(value, tuple):
        if value and isinstance(value[0], str):
            return f"{value[0]} with {len(value) - 1} fields"
        return f"a tuple of {len(value)}"
    if isinstance(value, np.ndarray):
        return "an array"
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, np.generic):
        return f"a NumPy scalar ({value.dtype})"
    return f"of type {type(value).__name__}"
