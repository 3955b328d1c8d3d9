"""The numbers of each dtype at which operators go wrong, for tensors written ``cycle = "edges"``.

Every table begins with an ordinary number, so that a tensor of one element has one. They are part
of the case format: docs/reference/case-format.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from hettest.language import DType

Numbers: TypeAlias = "tuple[float | int | bool, ...]"

_FRACTION_BITS: Final = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
_LEAST_EXPONENT: Final = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}


def edges(dtype: DType) -> Numbers:
    """Return 16 numbers: small ones, the ends of the range, and for floats what is no number.

    None is subnormal. A bool has two.
    """
    if dtype.is_bool:
        return (True, False)
    if dtype.is_float:
        return _float_edges(dtype.name)
    least, most, bits = dtype.minimum, dtype.maximum, dtype.bits
    if least < 0:
        ends = (most, most - 1, most // 2, least, least + 1, least // 2)
        return (3, -2, 0, 1, -1, 2, 5, -7, bits - 1, bits, *ends)
    ends = (most, most - 1, most // 2, most // 2 + 1, most // 3, 1 << bits // 2)
    return (3, 2, 0, 1, 5, 7, 10, 100, bits - 1, bits, *ends)


def _float_edges(name: str) -> Numbers:
    infinity, step = float("inf"), 2.0 ** -_FRACTION_BITS[name]
    least = 2.0 ** _LEAST_EXPONENT[name]
    most = (2 - step) * 2.0 ** (1 - _LEAST_EXPONENT[name])
    small = (0.5, -2.5, 0.0, -0.0, 1.0, -1.0, 3.0, 1 / 3, -7.0, 1 + step)
    return (*small, infinity, -infinity, float("nan"), most, -most, least)


def subnormals(dtype: DType) -> Numbers:
    """Return 8 numbers of a float dtype: subnormal ones, and their neighbours."""
    least = 2.0 ** _LEAST_EXPONENT[dtype.name]
    step = least * 2.0 ** -_FRACTION_BITS[dtype.name]
    return (step, -step, least - step, step - least, least, -least, 3 * step, 0.0)


TABLES: Final[Mapping[str, Callable[[DType], Numbers]]] = MappingProxyType(
    {"edges": edges, "subnormals": subnormals}
)
"""By the word that a case writes."""
