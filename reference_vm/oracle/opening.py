"""What comes of operands of which nothing is known: of floats over the end of a domain, say.

Such a float may be NaN, infinite, or any number. Which results hang on it is found by trying: an
element of a result that comes out otherwise for some of those is as open itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.oracle.catalog import MEANINGS
from reference_vm.oracle.definition import Operands
from reference_vm.oracle.estimate import Estimate, Result, Wide
from reference_vm.oracle.rounding import Rounding

TRIED: Final = (math.nan, math.inf, -math.inf, 0.0, 1.5, -1.5)
MIXED: Final = 12
"""How often each open element gets one of those by itself."""


def meaning_of(op: str, call: Operands) -> Result:
    """Return what an operator makes of its operands.

    Raises:
        DataError: The data is at fault.
    """
    found = MEANINGS[op](call)
    if call.rounding.is_random or not any(map(_is_open, call.args)):
        return found
    with np.errstate(all="ignore"):
        chosen = np.random.default_rng(0)
        for values in (*((value,) for value in TRIED), *(TRIED,) * MIXED):
            found = _opened(found, _tried(op, call, values, chosen))
    return found


def _is_open(arg: Result | None) -> bool:
    if not isinstance(arg, Estimate) or arg.error is None or not arg.dtype.is_float:
        return False
    return bool(np.any(np.isinf(arg.error)))


def _tried(
    op: str, call: Operands, values: Sequence[float], chosen: np.random.Generator
) -> Result | None:
    """Return what comes of ``values`` in the open places; ``None`` if that is no data at all."""
    args: list[Result | None] = []
    for arg in call.args:
        if isinstance(arg, Estimate):
            changed = arg.value
            if _is_open(arg):
                drawn = chosen.choice(np.asarray(values, changed.dtype), changed.shape)
                changed = np.where(np.isinf(arg.errors), drawn, changed)
            arg = Estimate(changed, None, arg.dtype)
        args.append(arg)
    rounding = Rounding(keeps_noise=False)
    rounding.at(0)
    try:
        return MEANINGS[op](replace(call, args=tuple(args), rounding=rounding))
    except (DataError, ValueError, OverflowError, IndexError):
        return None


def _opened(found: Any, tried: Any) -> Any:
    """Return ``found``, open where ``tried`` is another."""
    if isinstance(found, Estimate):
        error = np.where(_apart(found, tried), np.inf, found.errors)
        return replace(found, error=error if np.any(error) else found.error)
    if isinstance(found, tuple):
        others = tried if isinstance(tried, tuple) else (None,) * len(found)
        pairs = zip(found, others, strict=True)
        return tuple(_opened(f, t) if isinstance(f, Estimate) else f for f, t in pairs)
    return found


def _apart(found: Estimate, tried: object) -> Wide:
    if not isinstance(tried, Estimate) or tried.value.shape != found.value.shape:
        return np.ones(found.value.shape, np.bool_)
    same = found.value == tried.value
    if found.dtype.is_float:
        same |= np.isnan(found.value) & np.isnan(tried.value)
    return np.asarray(~same | np.isinf(tried.errors))


__all__ = ["meaning_of"]
