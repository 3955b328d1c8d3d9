"""The inputs that a model file declares."""

from __future__ import annotations

from pathlib import Path

import onnx

from benchmarks.real_models.inputs import Shapes


def declared_shapes(path: Path) -> Shapes:
    """Return the inputs that no initializer backs, in order, with the dims that are numbers."""
    graph = onnx.load(path, load_external_data=False).graph
    backed = {tensor.name for tensor in graph.initializer}
    return {
        entry.name: tuple(
            dim.dim_value if dim.HasField("dim_value") else None
            for dim in entry.type.tensor_type.shape.dim
        )
        for entry in graph.input
        if entry.name not in backed
    }


__all__ = ["declared_shapes"]
