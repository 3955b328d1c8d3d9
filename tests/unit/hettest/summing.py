"""Ways to add up: in which order, and in which precision. For backends that are as good as any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

Fold: TypeAlias = Callable[[Any], Any]
"""Adds up terms along the first axis, in their own precision."""

Compute: TypeAlias = Callable[..., Any]


def in_order(terms: Any) -> Any:
    total = np.zeros(terms.shape[1:], terms.dtype)
    for term in terms:
        total = total + term
    return total


def reversed_order(terms: Any) -> Any:
    return in_order(terms[::-1])


def pairwise(terms: Any) -> Any:
    while len(terms) > 1:
        odd = terms[len(terms) - 1 :] if len(terms) % 2 else terms[:0]
        terms = np.concatenate([terms[0 : len(terms) - 1 : 2] + terms[1::2], odd])
    return terms[0]


def blocked(terms: Any) -> Any:
    """Add up blocks of 32, and then their sums."""
    blocks = [in_order(terms[start : start + 32]) for start in range(0, len(terms), 32)]
    return in_order(np.stack(blocks))


def computing(fold: Fold, precision: type | None = None) -> Mapping[str, Compute]:
    """Return operators that add up by ``fold``: 16-bit floats in ``precision``, or else in f32."""

    def widened(x: Any) -> Any:
        if x.dtype.itemsize >= 4:
            return x
        return x.astype(np.float32 if precision is None else precision)

    def total(xp: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
        assert not keepdims
        (along,) = axis
        return np.asarray(fold(np.moveaxis(widened(x), along, 0)), x.dtype)

    def matmul(xp: Any, x: Any, y: Any) -> Any:
        products = widened(x).T[:, :, None] * widened(y)[:, None, :]
        return np.asarray(fold(products), x.dtype)

    return {"sum": total, "matmul": matmul}


AS_GOOD: Final[Mapping[str, Mapping[str, Compute]]] = {
    fold.__name__: computing(fold) for fold in (in_order, reversed_order, pairwise, blocked)
}
IN_HALF: Final[Mapping[str, Mapping[str, Compute]]] = {
    fold.__name__: computing(fold, np.float16)
    for fold in (in_order, reversed_order, pairwise, blocked)
}
