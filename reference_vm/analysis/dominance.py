"""Is one dim at least as large as another, whatever the symbols are in a run?

Symbols lie at or above their lower bounds. A polynomial that has no negative coefficient once each
symbol is written as its bound and a rest that is not negative is not negative either: ``n*m + 4*n``
is at least ``4*n + 2`` where ``n`` is at least 1 and ``m`` at least 2. What that does not show is
left open: the answer `False` means "not known".
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_vm.types.dim import Atom, Dim, Opaque, Poly, Unknown, substitute, subtract, symbol


def at_least(large: Dim, small: Dim, lower: Mapping[str, int]) -> bool:
    """Whether ``large >= small`` for all symbols at or above ``lower``; 0 where that has none."""
    difference = subtract(large, small)
    if isinstance(difference, Unknown):
        return False
    if isinstance(difference, int):
        return difference >= 0
    raised = substitute(difference, {s: symbol(s) + lower.get(s, 0) for s in difference.symbols})
    if isinstance(raised, int):
        return raised >= 0
    return isinstance(raised, Poly) and all(
        coefficient >= 0 and all(_is_positive(atom) for atom in monomial)
        for monomial, coefficient in raised.terms
    )


def _is_positive(atom: Atom) -> bool:
    """Whether a factor is never negative, its symbols not being negative."""
    if not isinstance(atom, Opaque):
        return True
    if atom.function == "mod":
        return at_least(atom.right, 1, {})
    both = at_least(atom.left, 0, {}) and at_least(atom.right, 0, {})
    return both or (
        atom.function == "max" and (at_least(atom.left, 0, {}) or at_least(atom.right, 0, {}))
    )


__all__ = ["at_least"]
