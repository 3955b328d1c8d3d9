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

from reference_vm.oracle.definition import Meaning, Operands, exactly
from reference_vm.oracle.estimate import (
    ANYWHERE,
    NOT_NEGATIVE,
    Estimate,
    Wide,
    magnitudes,
    unit,
    unless_overflowing,
)
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
            return _integers(call, x, y, multiply, value)
        limits = NOT_NEGATIVE if _signless(x, y, added) else ANYWHERE
        if call.rounding.is_random:
            return call.rounding.result(value, dtype, own=np.zeros(()), limits=limits)
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
                total += times(multiply, x.errors, right if y.error is None else right + y.errors)
            if y.error is not None:
                total += times(multiply, left, y.errors)
            if added is not None and added.error is not None:
                total += added.error
            return total

        def endless_zero() -> Wide:
            """Return where an infinity may meet a 0."""
            one = multiply(np.isinf(x.value) * 1.0, _doubtful_zero(y))
            other = multiply(_doubtful_zero(x), np.isinf(y.value) * 1.0)
            return call.open_where(np.asarray(one + other) > 0)

        errors = (x.error, y.error, None if added is None else added.error)
        endless = not np.isfinite(sizes).all()
        moves = propagated if any(e is not None for e in errors) else None
        return call.rounding.result(
            value,
            dtype,
            own=own,
            noise=lambda: (sizes + np.abs(value) * max(terms, 1) ** 0.5) * (u / 2),
            propagated=moves,
            open_at=endless_zero if moves and endless else None,
            limits=limits,
        )


def _doubtful_zero(x: Estimate) -> Wide:
    """Return 1 where an operand that is off may be 0."""
    low, high = x.ends()
    return ((x.errors > 0) & (low <= 0) & (high >= 0)) * 1.0


def times(multiply: Callable[[Wide, Wide], Wide], left: Wide, right: Wide) -> Wide:
    """Return a product of what is not negative; what is infinite in an operand makes it so."""
    known, reach = [], []
    for operand in (left, right):
        known.append(np.where(np.isfinite(operand), operand, 0.0))
        reach.append(1.0 - np.isfinite(operand))
    total = np.asarray(multiply(*known))
    if np.any(reach[0]):
        total = np.where(np.asarray(multiply(reach[0], np.ones(right.shape))) > 0, np.inf, total)
    if np.any(reach[1]):
        total = np.where(np.asarray(multiply(np.ones(left.shape), reach[1])) > 0, np.inf, total)
    return total


def _signless(*operands: Estimate | None) -> bool:
    """Whether no operand may be negative, and so no sum of products."""
    return all(operand is None or operand.span[0] >= 0 for operand in operands)


def _integers(
    call: Operands, x: Estimate, y: Estimate, multiply: Callable[[Wide, Wide], Wide], value: Wide
) -> Estimate:
    if not call.has_errors:
        return Estimate(value, None, x.dtype)
    left, right = (np.abs(operand.value.astype(np.float64)) for operand in (x, y))
    error = np.asarray(multiply(x.errors, right + y.errors) + multiply(left, y.errors))
    return exactly(call, value, error, x.dtype)


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
        terms_ = [np.abs(o.value.astype(np.float64)) for o in operands]
        pairs = zip(terms_, operands, strict=True)
        grown = np.asarray(np.einsum(equation, *(t + o.errors for t, o in pairs)))
        off = grown - np.asarray(np.einsum(equation, *terms_)) if call.has_errors else None
        return exactly(call, value, off, operands[0].dtype)
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

    def propagated() -> Wide:
        """By Hadamard's inequality, row by row: each is exchanged for its error in turn."""
        rows = np.sqrt(np.sum(np.square(x.value), axis=-1))
        errors = np.sqrt(np.sum(np.square(x.errors), axis=-1))
        return np.asarray(np.prod(rows + errors, axis=-1) - np.prod(rows, axis=-1) * (1 - 1e-12))

    moves = propagated if x.error is not None else None
    return call.rounding.result(value, x.dtype, own=own, propagated=moves)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {"matmul": _matmul, "einsum": _einsum, "det": _det}
)
