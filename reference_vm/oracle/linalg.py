"""What products of matrices mean.

A product that folds k terms is within ``k * u`` of the product of magnitudes. Its typical error is
that of a random walk: about ``u`` times that product where terms cancel, and ``sqrt(k) * u`` times
the result where they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands
from reference_vm.oracle.estimate import Estimate, Wide, magnitudes, unit, unless_overflowing
from reference_vm.types.dtype import DType


def product(
    call: Operands,
    x: Estimate,
    y: Estimate,
    multiply: Callable[[Wide, Wide], Wide],
    terms: int,
    dtype: DType | None = None,
    added: Estimate | None = None,
) -> Estimate:
    """Return a sum of products as an estimate.

    Args:
        call: The call, for its rounding.
        x: The left operand.
        y: The right operand.
        multiply: The bilinear operation, used on values, magnitudes and errors alike.
        terms: How many products each result adds up.
        dtype: The result's dtype, if it is not the operands'.
        added: One more term of each sum, shaped to broadcast.
    """
    dtype = dtype or x.dtype
    with np.errstate(all="ignore"):
        value = np.asarray(multiply(x.value, y.value))
        if added is not None:
            value = value + added.value
        if not dtype.is_float:
            return Estimate(value, None, dtype)
        if call.rounding.is_random:
            return call.rounding.result(value, dtype, own=np.zeros(()))
        left, right = np.abs(x.value), np.abs(y.value)
        sizes = np.asarray(multiply(left, right))
        if added is not None:
            sizes += magnitudes(added.value)
        u = unit(dtype)
        peak = sizes
        if not np.isfinite(sizes).all():
            peak = np.asarray(multiply(magnitudes(left), magnitudes(right)))
        own = sizes * (u * (terms + 1 + (added is not None)))
        value, own = unless_overflowing(value, own, peak, dtype)

        def propagated() -> Wide:
            total = np.zeros(value.shape)
            if x.error is not None:
                total += multiply(x.errors, right if y.error is None else right + y.errors)
            if y.error is not None:
                total += multiply(left, y.errors)
            if added is not None and added.error is not None:
                total += added.error
            return total

        errors = (x.error, y.error, None if added is None else added.error)
        moves = propagated if any(e is not None for e in errors) else None
        return call.rounding.result(
            value,
            dtype,
            own=own,
            noise=lambda: (sizes + np.abs(value) * max(terms, 1) ** 0.5) * (u / 2),
            propagated=moves,
        )


def _matmul(call: Operands) -> Estimate:
    return product(call, call[0], call[1], np.matmul, call[0].value.shape[-1])


def _einsum(call: Operands) -> Estimate:
    operands = call.tensors()
    equation = str(call.attrs["equation"]).replace(" ", "")
    sizes = _label_sizes(equation, operands)
    if len(operands) == 2:
        _, arrow, output = equation.partition("->")
        folded = [s for label, s in sizes.items() if arrow and label not in output]
        terms = int(np.prod(folded, dtype=np.int64)) if folded else max(sizes.values(), default=1)
        return product(
            call, operands[0], operands[1], lambda a, b: np.einsum(equation, a, b), terms
        )
    with np.errstate(all="ignore"):
        value = np.asarray(np.einsum(equation, *(o.value for o in operands)))
        magnitude = np.asarray(np.einsum(equation, *(np.abs(o.value) for o in operands)))
    if not operands[0].dtype.is_float:
        return Estimate(value, None, operands[0].dtype)
    terms = int(np.prod(list(sizes.values()), dtype=np.int64))
    own = magnitude * (unit(operands[0].dtype) * min(terms, 1 << 20))
    grown = np.asarray(
        np.einsum(equation, *(np.abs(o.value) + o.errors for o in operands)) - magnitude
    )
    return call.rounding.result(value, operands[0].dtype, own=own, propagated=lambda: grown)


def _label_sizes(equation: str, operands: tuple[Estimate, ...]) -> dict[str, int]:
    terms = equation.partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, operand in zip(terms, operands, strict=True):
        letters = term.replace("...", "")
        shape = operand.value.shape
        head = term.find("...")
        named = shape if head < 0 else shape[:head] + shape[len(shape) - len(letters) + head :]
        sizes.update(zip(letters, named, strict=False))
    return sizes


def _det(call: Operands) -> Estimate:
    x = call[0]
    size = x.value.shape[-1]
    with np.errstate(all="ignore"):
        value = np.asarray(np.linalg.det(x.value.astype(np.float64)))
        norms = np.prod(np.sqrt(np.sum(np.square(x.value), axis=-1)), axis=-1)
    own = np.asarray(norms * (size**2 * unit(x.dtype) * 4))
    unknown = np.full(value.shape, np.inf if x.error is not None else 0.0)
    return call.rounding.result(value, x.dtype, own=own, propagated=lambda: unknown)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {"matmul": _matmul, "einsum": _einsum, "det": _det}
)
