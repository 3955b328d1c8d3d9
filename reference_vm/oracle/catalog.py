"""Every operator's meaning, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference_vm.oracle import (
    arithmetic,
    casting,
    detection,
    division,
    functions,
    grid,
    indexing,
    linalg,
    movement,
    normalization,
    quantization,
    recurrent,
    reduction,
    resize,
    scattering,
    signal,
    sorting,
    trees,
    windows,
)
from reference_vm.oracle.definition import Meaning

MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        **arithmetic.MEANINGS,
        **division.MEANINGS,
        **functions.MEANINGS,
        **casting.MEANINGS,
        **movement.MEANINGS,
        **indexing.MEANINGS,
        **scattering.MEANINGS,
        **reduction.MEANINGS,
        **linalg.MEANINGS,
        **normalization.MEANINGS,
        **windows.MEANINGS,
        **recurrent.MEANINGS,
        **signal.MEANINGS,
        **resize.MEANINGS,
        **grid.MEANINGS,
        **quantization.MEANINGS,
        **sorting.MEANINGS,
        **trees.MEANINGS,
        **detection.MEANINGS,
    }
)

_SINGLE: Final = (
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("floor", "ceil", "round", "sign", "floor_divide", "trunc_divide", "remainder", "fmod"),
    *("argmax", "argmin", "nonzero", "isnan", "isinf", "cast", "bitcast"),
    *("quantize_linear", "non_max_suppression", "resize"),
)

DECISIONS: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(_SINGLE, 1),
        "top_k": 2,
        "max_pool_with_indices": 2,
        "dynamic_quantize_linear": 3,
        "unique": 4,
    }
)
"""Operators whose result can jump, and how many results they have: the oracle follows what the run
decided, where it showed it."""
