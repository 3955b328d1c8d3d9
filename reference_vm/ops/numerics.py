"""How `OpDef.compute` calculates: quietly, in f32 for narrower floats, with arrays as results.

NumPy warns of an overflow, a NaN or a division by zero, and turns a 0-d result into a scalar; the
language does neither. Everything here runs on any array namespace ``xp``.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Final

import numpy as np

from reference_vm.ops.definition import Array, Compute, DataError, Namespace
from reference_vm.types.arrays import NUMPY

HALVES: Final = frozenset({NUMPY["f16"], NUMPY["bf16"]})
"""The dtypes whose operators compute in f32 and round their result."""


def quiet() -> Any:
    """Return a context in which floating-point events pass without a warning."""
    return np.errstate(all="ignore")


def does_not_fit(error: ValueError) -> DataError:
    """Return the error that the operands' shapes turned out not to fit."""
    return DataError("shape-mismatch", str(error), "the sizes were known only when it ran")


def lifted(compute: Compute) -> Compute:
    """Return ``compute`` made fit for every float dtype.

    f16 and bf16 operands reach it as f32, and its result is rounded back to operand 0's dtype. Its
    result may be a scalar; the new function's is an array. Shapes that do not broadcast become a
    `DataError`.
    """

    @wraps(compute)
    def run(xp: Namespace, *operands: Array, **attrs: Any) -> Array:
        dtype = operands[0].dtype
        try:
            if dtype.kind in "iu":  # these never warn
                return xp.asarray(compute(xp, *operands, **attrs))
            with np.errstate(all="ignore"):
                if dtype in HALVES:
                    wide = [widened(xp, operand) for operand in operands]
                    attrs.pop("out", None)
                    return xp.asarray(compute(xp, *wide, **attrs)).astype(dtype)
                return xp.asarray(compute(xp, *operands, **attrs))
        except ValueError as error:
            raise does_not_fit(error) from error

    return run


def compared(compute: Compute) -> Compute:
    """Return ``compute``, which yields bools or indices, made fit for every dtype, as `lifted`."""

    @wraps(compute)
    def run(xp: Namespace, *operands: Array, **attrs: Any) -> Array:
        with np.errstate(all="ignore"):
            try:
                wide = [widened(xp, operand) for operand in operands]
                return xp.asarray(compute(xp, *wide, **attrs))
            except ValueError as error:
                raise does_not_fit(error) from error

    return run


def widened(xp: Namespace, operand: Array | None) -> Array | None:
    """Return an f16 or bf16 array in f32; anything else as it is."""
    if operand is None or operand.dtype not in HALVES:
        return operand
    return operand.astype(xp.float32)


def is_float(array: Array) -> bool:
    """Whether the elements are floats, bf16 included."""
    return array.dtype.kind == "f" or array.dtype in HALVES


def is_signed_integer(array: Array) -> bool:
    return bool(array.dtype.kind == "i")


__all__ = [
    "HALVES",
    "compared",
    "does_not_fit",
    "is_float",
    "is_signed_integer",
    "lifted",
    "quiet",
    "widened",
]
