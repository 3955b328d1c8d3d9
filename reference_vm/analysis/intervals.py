"""Between which numbers a dim lies, when its symbols lie between known ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeAlias

from reference_vm.ir.nodes import Bound
from reference_vm.types.dim import Atom, Dim, Poly, apply

Interval: TypeAlias = "tuple[int, int]"
"""The least and the greatest value, both possible as far as is known."""


def ranges(bounds: Sequence[Bound]) -> dict[str, Interval]:
    """Return the interval of each symbol that has an upper bound."""
    return {b.symbol: (b.lower, b.upper) for b in bounds if b.upper is not None}


def interval(dim: Dim, known: Mapping[str, Interval]) -> Interval | None:
    """Return the interval of ``dim``; ``None`` if it has no upper bound or is unknown."""
    if isinstance(dim, int):
        return dim, dim
    if not isinstance(dim, Poly):
        return None
    low = high = 0
    for monomial, coefficient in dim.terms:
        term: Interval = (coefficient, coefficient)
        for atom in monomial:
            factor = _atom(atom, known)
            if factor is None:
                return None
            ends = [a * b for a, b in product(term, factor)]
            term = (min(ends), max(ends))
        low, high = low + term[0], high + term[1]
    return low, high


def _atom(atom: Atom, known: Mapping[str, Interval]) -> Interval | None:
    if isinstance(atom, str):
        return known.get(atom)
    left, right = interval(atom.left, known), interval(atom.right, known)
    if left is None or right is None:
        return None
    if atom.function in ("min", "max"):
        choose = min if atom.function == "min" else max
        return choose(left[0], right[0]), choose(left[1], right[1])
    if right[0] <= 0:
        return None
    if atom.function == "mod":
        return 0, right[1] - 1
    ends = [apply(atom.function, a, b) for a, b in product(left, right)]
    numbers = [e for e in ends if isinstance(e, int)]
    return min(numbers), max(numbers)


__all__ = ["Interval", "interval", "ranges"]
