"""Every ONNX operator that we translate, by domain and name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference_vm.exchange import (
    onnx_ops_casts,
    onnx_ops_classic,
    onnx_ops_constant,
    onnx_ops_control,
    onnx_ops_elementwise,
    onnx_ops_indexing,
    onnx_ops_linalg,
    onnx_ops_loops,
    onnx_ops_movement,
    onnx_ops_normalization,
    onnx_ops_quantization,
    onnx_ops_random,
    onnx_ops_recurrent,
    onnx_ops_reduction,
    onnx_ops_resize,
    onnx_ops_shape,
    onnx_ops_signal,
    onnx_ops_trees,
    onnx_ops_windows,
)
from reference_vm.exchange.node import RuleTable
from reference_vm.exchange.scope import DEFAULT_DOMAIN

RULES: Final[Mapping[str, RuleTable]] = MappingProxyType(
    {
        DEFAULT_DOMAIN: {
            **onnx_ops_casts.RULES,
            **onnx_ops_constant.RULES,
            **onnx_ops_control.RULES,
            **onnx_ops_elementwise.RULES,
            **onnx_ops_indexing.RULES,
            **onnx_ops_linalg.RULES,
            **onnx_ops_loops.RULES,
            **onnx_ops_movement.RULES,
            **onnx_ops_normalization.RULES,
            **onnx_ops_quantization.RULES,
            **onnx_ops_random.RULES,
            **onnx_ops_recurrent.RULES,
            **onnx_ops_reduction.RULES,
            **onnx_ops_resize.RULES,
            **onnx_ops_shape.RULES,
            **onnx_ops_signal.RULES,
            **onnx_ops_windows.RULES,
        },
        "ai.onnx.ml": {**onnx_ops_classic.RULES, **onnx_ops_trees.RULES},
    }
)
"""By domain, the empty one being ONNX's own."""


__all__ = ["RULES"]
