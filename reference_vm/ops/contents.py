"""Content rules: what is known, when compiling, of the elements of small integer tensors.

Models that compute shapes (``Shape``, ``Gather``, ``Concat``, ``Reshape``) keep symbolic dims by
them. A content is a tuple of dims, one an element, of a tensor of rank 0 or 1; bools are 0 and 1.
A rule returns ``None`` when nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from reference_vm.ops.definition import Content, ContentRule, OpCall
from reference_vm.ops.shapes import lower_bound
from reference_vm.types import UNKNOWN, Dim, DType, TensorType, Unknown
from reference_vm.types.dim import Relation, add, apply, multiply, relate, subtract

LIMIT: Final = 64
"""The most elements that are tracked."""

Fold = Callable[..., Dim]


def tidy(content: Sequence[Dim]) -> Content | None:
    """Return ``content``, or ``None`` if it is too long or says nothing."""
    if len(content) > LIMIT or (content and all(isinstance(d, Unknown) for d in content)):
        return None
    return tuple(content)


def wrapped(dim: Dim, dtype: DType) -> Dim:
    """Return ``dim`` as ``dtype`` holds it; an expression of symbols is taken to be in range."""
    if not isinstance(dim, int) or not dtype.is_integer:
        return dim
    return (dim - dtype.minimum) % (1 << dtype.bits) + dtype.minimum


def same(call: OpCall) -> Content | None:
    """The elements are operand 0's, in their order, whatever the shape: a reshape, a copy."""
    return call.content(0)


def aligned(
    contents: Sequence[Content | None], ranks: Sequence[int | None]
) -> list[Content] | None:
    """Return contents of equal length, as broadcasting makes them; ``None`` if unknown."""
    known = [content for content in contents if content is not None]
    if len(known) != len(contents) or any(rank is None or rank > 1 for rank in ranks):
        return None
    vectors = [len(c) for c, rank in zip(known, ranks, strict=True) if rank == 1 and len(c) != 1]
    length = vectors[0] if vectors else 1
    if any(len(content) not in (1, length) for content in known):
        return None
    return [c if len(c) == length else c * length for c in known]


def elementwise(fold: Fold) -> ContentRule:
    """Return the rule of an operator that applies ``fold`` to the operands' elements."""

    def rule(call: OpCall) -> Content | None:
        tensors = [t for t in call.types if isinstance(t, TensorType)]
        if len(tensors) != len(call.types):
            return None
        columns = aligned(call.contents, [t.rank for t in tensors])
        if columns is None or tensors[-1].dtype.is_float:
            return None
        dtype = tensors[-1].dtype
        return tidy([wrapped(fold(*dims), dtype) for dims in zip(*columns, strict=True)])

    return rule


def truth(relation: Relation) -> Dim:
    """Return 1 for equal, 0 for different, `UNKNOWN` for maybe."""
    if relation is Relation.MAYBE:
        return UNKNOWN
    return 1 if relation is Relation.EQUAL else 0


def dims_equal(left: Dim, right: Dim) -> Dim:
    """Return whether two elements are equal, given that no symbol is negative: ``n`` is not -1."""
    difference = subtract(left, right)
    if lower_bound(difference) > 0 or lower_bound(multiply(-1, difference)) > 0:
        return 0
    return truth(relate(left, right))


def negated(dim: Dim) -> Dim:
    """Return logical not of a content element."""
    return int(not dim) if isinstance(dim, int) else UNKNOWN


def chosen(condition: Dim, x: Dim, y: Dim) -> Dim:
    """Return ``x`` or ``y``, as ``where`` does; either if they are the same."""
    if isinstance(condition, int):
        return x if condition else y
    return x if relate(x, y) is Relation.EQUAL else UNKNOWN


def floor_divided(x: Dim, y: Dim) -> Dim:
    return UNKNOWN if y == 0 else apply("floordiv", x, y)


def remaindered(x: Dim, y: Dim) -> Dim:
    return UNKNOWN if y == 0 else apply("mod", x, y)


def product_of(call: OpCall) -> Content | None:
    """The rule of ``prod`` over a whole tensor."""
    return _folded(call, multiply, 1)


def sum_of(call: OpCall) -> Content | None:
    """The rule of ``sum`` over a whole tensor."""
    return _folded(call, add, 0)


def _folded(call: OpCall, fold: Fold, initial: int) -> Content | None:
    content, type_ = call.content(0), call.tensor(0)
    if content is None or type_.rank != 1 or type_.dtype.is_float or call.attrs["axis"] == ():
        return None
    result: Dim = initial
    for dim in content:
        result = fold(result, dim)
    return tidy((wrapped(result, type_.dtype),))


__all__ = [
    "LIMIT",
    "aligned",
    "chosen",
    "dims_equal",
    "elementwise",
    "floor_divided",
    "negated",
    "product_of",
    "remaindered",
    "same",
    "sum_of",
    "tidy",
    "truth",
    "wrapped",
]
