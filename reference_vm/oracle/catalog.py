"""Every operator's meaning, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference_vm.oracle import (
    arithmetic,
    detection,
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
    signal,
    sorting,
    trees,
    windows,
)
from reference_vm.oracle.definition import Meaning

MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        **arithmetic.MEANINGS,
        **functions.MEANINGS,
        **movement.MEANINGS,
        **indexing.MEANINGS,
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

DECISIONS: Final = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
    | {"floor", "ceil", "round", "sign", "floor_divide", "trunc_divide", "remainder", "fmod"}
    | {"argmax", "argmin", "top_k", "nonzero", "unique", "isnan", "isinf", "cast"}
    | {"quantize_linear", "dynamic_quantize_linear", "non_max_suppression", "bitcast"}
)
"""Operators whose result can jump: the oracle follows what the run decided, where it showed it."""
