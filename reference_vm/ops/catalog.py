"""All operators by name: `OPS`, joined from the families.

A new family is one module with a tuple ``OPS`` and one line in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference_vm.ops import (
    activation,
    arithmetic,
    casting,
    comparison,
    convolution,
    creation,
    detection,
    device,
    elementary,
    indexing,
    joining,
    linalg,
    movement,
    normalization,
    padding,
    pooling,
    quantization,
    recurrent,
    reduction,
    reshaping,
    resize,
    scans,
    scattering,
    selecting,
    shape_values,
    signal,
    slicing,
    sorting,
    trees,
    triangular,
)
from reference_vm.ops.definition import OpDef

FAMILIES: Final[Mapping[str, tuple[OpDef, ...]]] = MappingProxyType(
    {
        "arithmetic": arithmetic.OPS,
        "elementary functions": elementary.OPS,
        "activations": activation.OPS,
        "comparison, logic and bits": comparison.OPS,
        "choosing and converting": casting.OPS,
        "reductions": reduction.OPS + scans.OPS,
        "reshaping": reshaping.OPS,
        "slicing and joining": slicing.OPS + joining.OPS,
        "movement": movement.OPS + triangular.OPS,
        "padding": padding.OPS,
        "indexing": indexing.OPS + selecting.OPS,
        "scattering": scattering.OPS,
        "creation and shapes": creation.OPS + shape_values.OPS,
        "linear algebra": linalg.OPS,
        "convolutions": convolution.OPS,
        "pools": pooling.OPS,
        "normalization": normalization.OPS,
        "recurrent layers": recurrent.OPS,
        "signals": signal.OPS,
        "resizing and sampling": resize.OPS,
        "quantization": quantization.OPS,
        "ordering": sorting.OPS,
        "decision trees": trees.OPS,
        "object detection": detection.OPS,
        "devices": device.OPS,
    }
)
"""Each family's operators, by the heading that the reference page gives them."""


def _joined(families: Mapping[str, tuple[OpDef, ...]]) -> Mapping[str, OpDef]:
    ops: dict[str, OpDef] = {}
    for family in families.values():
        for op in family:
            assert op.name not in ops, f"{op.name} is defined twice"
            ops[op.name] = op
    return MappingProxyType(ops)


OPS: Final[Mapping[str, OpDef]] = _joined(FAMILIES)
"""Every operator, by name."""

__all__ = ["FAMILIES", "OPS"]
