"""How many bytes a tensor is taken to have when copies are weighed against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from reference_vm.ir.nodes import Bound
from reference_vm.types import Dim, TensorType
from reference_vm.types.dim import Unknown, evaluate, symbols

NOMINAL: Final = 64
"""The size of a dim that nothing is known of, and the rank-1 length of an unknown shape."""


def nominal_bytes(type_: TensorType, sizes: Mapping[str, int], bounds: Sequence[Bound]) -> int:
    """Return ceil(elements * bits / 8); a symbol is its size, else its upper bound, else 64."""
    upper = {b.symbol: b.upper for b in bounds if b.upper is not None}
    values = {**upper, **sizes}
    dims = (NOMINAL,) if type_.shape is None else type_.shape
    elements = 1
    for dim in dims:
        elements *= _size(dim, values)
    return -(-elements * type_.dtype.bits // 8)


def _size(dim: Dim, values: Mapping[str, int]) -> int:
    if isinstance(dim, Unknown):
        return NOMINAL
    try:
        return max(0, evaluate(dim, {s: values.get(s, NOMINAL) for s in symbols(dim)}))
    except ZeroDivisionError:
        return NOMINAL


__all__ = ["NOMINAL", "nominal_bytes"]
