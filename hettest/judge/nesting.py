"""Results are nested as they should be: tuples in tuples, and arrays where arrays belong.

A value of a data type is a tuple that begins with its constructor's name.
"""

from __future__ import annotations

import numpy as np


def misfit(found: object, wanted: object, place: str = "the result") -> str | None:
    """Return where ``found`` is nested otherwise than ``wanted``, or ``None``.

    Args:
        found: What a run returned.
        wanted: What it is held to; its leaves stand for arrays, but for the names of constructors.
        place: What the message calls ``found``.
    """
    if isinstance(wanted, str):
        return None if found == wanted else f"{place} is {_called(found)}, expected {wanted!r}"
    if not isinstance(wanted, tuple):
        if isinstance(found, np.ndarray):
            return None
        return f"{place} is {_called(found)}, expected an array"
    if not isinstance(found, tuple) or len(found) != len(wanted):
        return f"{place} is {_called(found)}, expected a tuple of {len(wanted)}"
    pairs = enumerate(zip(found, wanted, strict=True))
    parts = (misfit(inner, want, f"{place}[{index}]") for index, (inner, want) in pairs)
    return next(filter(None, parts), None)


def _called(value: object) -> str:
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, np.ndarray):
        return "an array"
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, np.generic):
        return f"a NumPy scalar ({value.dtype})"
    return f"of type {type(value).__name__}"
