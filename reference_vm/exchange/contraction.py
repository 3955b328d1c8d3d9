"""Einsum of two tensors as one matrix product, where it is one.

Labels that both have and the result has too count batches; those that the result lacks are summed;
the others are rows of the first and columns of the second. So both are turned and reshaped to
``[batches…, rows, summed]`` and ``[batches…, summed, columns]``::

    abcd,cde->abe        [a*b, c*d] @ [c*d, e], reshaped to [a, b, e]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_vm.exchange.builder import Builder
from reference_vm.ir.nodes import Var
from reference_vm.types import Dim, TensorType, Unknown
from reference_vm.types.dim import product


def contraction(build: Builder, operands: Sequence[Var], equation: str) -> Var | None:
    """Append a matrix product that is an einsum of two tensors; ``None`` if there is none.

    There is none for an ellipsis, for a label that one term has twice or that is summed in one
    operand alone, where nothing is summed, and where a size is not known.
    """
    left, arrow, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow or len(terms) != 2 or len(operands) != 2 or "." in equation:
        return None
    sizes = _sizes(operands, terms)
    if sizes is None or len(set(result)) != len(result) or not set(result) <= sizes.keys():
        return None
    first, second = terms
    batches = [c for c in result if c in first and c in second]
    rows = [c for c in result if c not in second]
    columns = [c for c in result if c not in first]
    summed = [c for c in first if c in second and c not in result]
    if not summed or len({*batches, *rows, *columns, *summed}) != len(sizes):
        return None

    def dims(labels: Sequence[str]) -> tuple[Dim, ...]:
        return tuple(sizes[c] for c in labels)

    def matrices(x: Var, term: str, high: Sequence[str], wide: Sequence[str]) -> Var:
        turned = _turned(build, x, term, [*batches, *high, *wide])
        shape = (*dims(batches), product(dims(high)), product(dims(wide)))
        return _reshaped(build, turned, shape)

    found = build.call(
        "matmul",
        matrices(operands[0], first, rows, summed),
        matrices(operands[1], second, summed, columns),
    )
    spread = [*batches, *rows, *columns]
    return _turned(build, _reshaped(build, found, dims(spread)), "".join(spread), list(result))


def _sizes(operands: Sequence[Var], terms: Sequence[str]) -> Mapping[str, Dim] | None:
    """Return the size of each label; ``None`` unless all are known."""
    sizes: dict[str, Dim] = {}
    for var, term in zip(operands, terms, strict=True):
        shape = var.type.shape if isinstance(var.type, TensorType) else None
        if shape is None or len(shape) != len(term) or len(set(term)) != len(term):
            return None
        for label, dim in zip(term, shape, strict=True):
            if isinstance(dim, Unknown) or sizes.setdefault(label, dim) != dim:
                return None
    return sizes


def _turned(build: Builder, x: Var, term: str, order: Sequence[str]) -> Var:
    if list(term) == list(order):
        return x
    return build.call("permute_dims", x, axes=tuple(term.index(c) for c in order))


def _reshaped(build: Builder, x: Var, shape: tuple[Dim, ...]) -> Var:
    if isinstance(x.type, TensorType) and x.type.shape == shape:
        return x
    return build.call("reshape", x, build.shape(shape), allow_zero=True)


__all__ = ["contraction"]
