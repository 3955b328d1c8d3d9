"""Every ONNX operator that we translate, by domain and name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference_vm.exchange import (
    onnx_ops_casts,
    onnx_ops_classic,
    onnx_ops_composed,
    onnx_ops_constant,
    onnx_ops_control,
    onnx_ops_detection,
    onnx_ops_elementwise,
    onnx_ops_indexing,
    onnx_ops_legacy,
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
    onnx_ops_training,
    onnx_ops_trees,
    onnx_ops_windows,
)
from reference_vm.exchange.node import Rule, RuleTable
from reference_vm.exchange.scope import DEFAULT_DOMAIN

_FAMILIES: Final = (
    onnx_ops_casts,
    onnx_ops_composed,
    onnx_ops_constant,
    onnx_ops_control,
    onnx_ops_detection,
    onnx_ops_elementwise,
    onnx_ops_indexing,
    onnx_ops_legacy,
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
    onnx_ops_windows,
)


def _joined(*tables: RuleTable) -> RuleTable:
    """Return the rules of all tables; several may know one operator, in different versions."""
    found: dict[str, dict[int, Rule]] = {}
    for table in tables:
        for name, rules in table.items():
            known = found.setdefault(name, {})
            assert not known.keys() & rules.keys(), f"a version of {name} has two rules"
            known.update(rules)
    return found


RULES: Final[Mapping[str, RuleTable]] = MappingProxyType(
    {
        DEFAULT_DOMAIN: _joined(*(family.RULES for family in _FAMILIES)),
        "ai.onnx.ml": _joined(onnx_ops_classic.RULES, onnx_ops_trees.RULES),
        "ai.onnx.preview.training": onnx_ops_training.RULES,
    }
)
"""By domain, the empty one being ONNX's own."""


__all__ = ["RULES"]
