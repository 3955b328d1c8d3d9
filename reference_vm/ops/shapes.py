"""Shapes in type rules: broadcasting, axes, and what is certain of two dims.

Every function says what is certain. Where only a run can tell, a dim is `UNKNOWN` and an unknown
rank is ``None``; an error is raised only for what no run could make right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Literal

from reference_vm.ops.definition import OpCall
from reference_vm.types import UNKNOWN, Dim, Poly, Shape, Unknown
from reference_vm.types.dim import (
    Atom,
    Monomial,
    Opaque,
    Relation,
    add,
    apply,
    floordiv,
    multiply,
    product,
    relate,
    subtract,
)
from reference_vm.types.types import str_dim


def str_shape(shape: Shape | None) -> str:
    """Return the dims as types print them: ``[n, 4]``; ``[...]`` for an unknown rank."""
    return "[...]" if shape is None else f"[{', '.join(map(str_dim, shape))}]"


def is_equal(left: Dim, right: Dim) -> bool:
    """Whether two dims are certainly equal."""
    return relate(left, right) is Relation.EQUAL


def is_different(left: Dim, right: Dim) -> bool:
    """Whether two dims are certainly different."""
    return relate(left, right) is Relation.DIFFERENT


def same_dim(left: Dim, right: Dim) -> Dim | None:
    """Return the dim that two operands share, the better known; ``None`` if they cannot."""
    if is_different(left, right):
        return None
    if isinstance(left, int) or isinstance(right, Unknown):
        return left
    return right if isinstance(right, int) or isinstance(left, Unknown) else left


def _broadcast_dim(left: Dim, right: Dim) -> Dim | None:
    if left == 1:
        return right
    if right == 1:
        return left
    if is_equal(left, right):
        return min(left, right, key=_length)
    if is_different(left, right) and is_different(left, 1) and is_different(right, 1):
        return None
    if isinstance(left, int):
        return left
    if isinstance(right, int) or _is_capped(left, right):
        return right
    return left if _is_capped(right, left) else UNKNOWN


def _length(dim: Dim) -> int:
    return dim.size if isinstance(dim, Poly) else 0


def _is_capped(dim: Dim, whole: Dim) -> bool:
    """Whether ``dim`` is ``min(k, whole)`` for a number k above 0.

    Where such dims broadcast against one another, they make ``whole``.
    """
    if not isinstance(dim, Poly) or len(dim.terms) != 1:
        return False
    ((monomial, coefficient),) = dim.terms
    atom = monomial[0]
    if coefficient != 1 or len(monomial) != 1 or isinstance(atom, str) or atom.function != "min":
        return False
    caps = [side for side in (atom.left, atom.right) if isinstance(side, int)]
    return whole in (atom.left, atom.right) and all(cap > 0 for cap in caps) and bool(caps)


def broadcast(call: OpCall, shapes: Iterable[Shape | None]) -> Shape | None:
    """Return the shape that NumPy's broadcasting makes of ``shapes``.

    Raises:
        CompileError: ``shape-mismatch``: no values of the symbols make them fit.
    """
    return reduce(lambda left, right: _broadcast_two(call, left, right), shapes)


def _broadcast_two(call: OpCall, left: Shape | None, right: Shape | None) -> Shape | None:
    if left is None or right is None:
        return None
    rank = max(len(left), len(right))
    ones: Shape = (1,) * rank
    dims: list[Dim] = []
    pairs = zip((ones + left)[-rank:], (ones + right)[-rank:], strict=True) if rank else ()
    for a, b in pairs:
        dim = _broadcast_dim(a, b)
        if dim is None:
            raise mismatch(call, left, right)
        dims.append(dim)
    return tuple(dims)


def mismatch(call: OpCall, left: Shape | None, right: Shape | None) -> Exception:
    """Return the error that two shapes do not broadcast."""
    return call.error(
        "shape-mismatch",
        f"shapes {str_shape(left)} and {str_shape(right)} do not broadcast",
        "dims must be equal, or one of them 1, counted from the last",
    )


def normalize_axis(call: OpCall, axis: int, rank: int) -> int:
    """Return ``axis`` counted from 0.

    Raises:
        CompileError: ``axis-out-of-range``.
    """
    if not -rank <= axis < rank:
        raise call.error(
            "axis-out-of-range",
            f"axis {axis} of a tensor of rank {rank}",
            f"an axis is in {-rank}..{rank - 1}" if rank else "a tensor of rank 0 has no axis",
        )
    return axis % rank


def normalize_axes(call: OpCall, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return ``axes`` counted from 0, in their order.

    Raises:
        CompileError: ``axis-out-of-range``, or ``attribute-value`` for one given twice.
    """
    normal = tuple(normalize_axis(call, axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise call.error("attribute-value", f"axes {list(axes)} name an axis twice")
    return normal


def int_axes(call: OpCall, name: str = "axes") -> tuple[int, ...] | None:
    """Return attribute ``name``, a tuple of integers or ``none``.

    Raises:
        CompileError: ``attribute-value``: an item is something else.
    """
    value = call.attrs[name]
    if value is None:
        return None
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        raise call.error("attribute-value", f"{name} = {value!r}, expected integers")
    return tuple(value)


def _atom_is_natural(atom: Atom) -> bool:
    if isinstance(atom, str):
        return True
    left, right = lower_bound(atom.left), lower_bound(atom.right)
    if atom.function == "max":
        return max(left, right) >= 0
    return min(left, right) >= 0


def lower_bound(dim: Dim) -> float:
    """Return a number that ``dim`` is never less than, given that no symbol is negative.

    Minus infinity if there is none to be seen; 0 for `UNKNOWN`, which is some size.
    """
    if isinstance(dim, Unknown):
        return 0
    if isinstance(dim, int):
        return dim
    found = sum(_term_bound(monomial, coefficient) for monomial, coefficient in dim.terms)
    return _undivided_bound(dim) if found == -math.inf else found


def _undivided_bound(dim: Poly) -> float:
    """Return what `lower_bound` does, by what divisions by numbers differ from quotients at most.

    So it sees that ``floordiv(n, 2) + 1`` is never less than ``floordiv(n + 1, 2)``.
    """
    divisors = [d for monomial, _ in dim.terms if (d := _divisor(monomial))]
    if not divisors:
        return -math.inf
    whole = math.lcm(*divisors)
    least = reduce(add, (_times(whole, monomial, c) for monomial, c in dim.terms))
    found = lower_bound(least)
    return found if found == -math.inf else math.ceil(Fraction(int(found), whole))


def _divisor(monomial: Monomial) -> int:
    """Return what a term that is a quotient is divided by; 0 for other terms."""
    atom = monomial[0] if len(monomial) == 1 else None
    if not isinstance(atom, Opaque) or atom.function not in ("floordiv", "ceildiv"):
        return 0
    return atom.right if isinstance(atom.right, int) and atom.right > 0 else 0


def _times(whole: int, monomial: Monomial, coefficient: int) -> Dim:
    """Return no more than ``whole`` times a term, without the division in it."""
    divisor, atom = _divisor(monomial), monomial[0] if monomial else ""
    if not divisor or not isinstance(atom, Opaque):
        return multiply(whole, Poly(((monomial, coefficient),)) if monomial else coefficient)
    rounds_down = atom.function == "floordiv"
    rest = 0
    if rounds_down and coefficient > 0:
        rest = 1 - divisor
    if not rounds_down and coefficient < 0:
        rest = divisor - 1
    return multiply(whole // divisor * coefficient, add(atom.left, rest))


def _term_bound(monomial: Monomial, coefficient: int) -> float:
    if not monomial:
        return coefficient
    if coefficient > 0 and all(map(_atom_is_natural, monomial)):
        return 0
    if coefficient > 0 and len(monomial) == 1 and isinstance(monomial[0], Opaque):
        return coefficient * _opaque_bound(monomial[0])
    return -math.inf


def _opaque_bound(opaque: Opaque) -> float:
    left, right = lower_bound(opaque.left), opaque.right
    if left == -math.inf or not isinstance(right, int):
        return -math.inf
    match opaque.function:
        case "floordiv" if right > 0:
            return left // right
        case "ceildiv" if right > 0:
            return -(-left // right)
        case "min":
            return min(left, right)
        case _:
            return -math.inf


def least(left: Dim, right: Dim) -> Dim:
    """Return the smaller of two dims, without ``min`` where the symbols' signs decide it."""
    return _chosen(left, right, "min")


def greatest(left: Dim, right: Dim) -> Dim:
    """Return the greater of two dims, without ``max`` where the symbols' signs decide it."""
    return _chosen(left, right, "max")


def _chosen(left: Dim, right: Dim, function: Literal["min", "max"]) -> Dim:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if lower_bound(subtract(left, right)) >= 0:
        return right if function == "min" else left
    if lower_bound(subtract(right, left)) >= 0:
        return left if function == "min" else right
    return apply(function, left, right)


def quotient(total: Dim, part: Dim) -> Dim:
    """Return ``total / part``, which is known to leave no rest; `UNKNOWN` by 0."""
    return UNKNOWN if part == 0 else floordiv(total, part)


def element_count(shape: Shape | None) -> Dim:
    """Return the number of elements; `UNKNOWN` for an unknown rank."""
    return UNKNOWN if shape is None else product(shape)


def is_known(dim: Dim) -> bool:
    """Whether ``dim`` is a number or an expression of symbols."""
    return isinstance(dim, int | Poly)


__all__ = [
    "broadcast",
    "element_count",
    "greatest",
    "int_axes",
    "is_different",
    "is_equal",
    "is_known",
    "least",
    "lower_bound",
    "mismatch",
    "normalize_axes",
    "normalize_axis",
    "quotient",
    "same_dim",
    "str_shape",
]
