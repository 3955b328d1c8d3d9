"""What a graph declares of its values, ``value_info`` and outputs, held to what they are.

A dim that is declared by a name, or not at all, is taken as it comes; so is one that is not known
before the run.
"""

from __future__ import annotations

from onnx import GraphProto, ValueInfoProto

from reference_vm.exchange.element_types import element_type_name, from_element_type
from reference_vm.exchange.refusals import invalid
from reference_vm.exchange.scope import Scope
from reference_vm.ir.nodes import Var
from reference_vm.types import TensorType


def check_value_info(graph: GraphProto, scope: Scope) -> None:
    """Check what a graph declares of the values inside it.

    Raises:
        CompileError: ``invalid-model``: one has another element type, rank or dim.
    """
    for entry in graph.value_info:
        var = scope.values.get(entry.name)
        if var is not None:
            check_declared(entry, var, f'{scope.label}value "{entry.name}"')


def check_declared(entry: ValueInfoProto, var: Var, where: str) -> None:
    """Check what is declared of one value.

    Raises:
        CompileError: ``invalid-model``: it has another element type, rank or dim.
    """
    declared = entry.type.tensor_type
    if not declared.elem_type or not isinstance(var.type, TensorType):
        return
    if from_element_type(declared.elem_type) != var.type.dtype:
        found = element_type_name(declared.elem_type)
        raise invalid(where, f"is declared {found}, but is {var.type.dtype}")
    if not declared.HasField("shape") or var.type.shape is None:
        return
    dims = [d.dim_value if d.HasField("dim_value") else None for d in declared.shape.dim]
    fits = len(dims) == len(var.type.shape) and all(
        dim is None or not isinstance(size, int) or dim == size
        for dim, size in zip(dims, var.type.shape, strict=True)
    )
    if not fits:
        shown = ", ".join("?" if dim is None else str(dim) for dim in dims)
        actual = ", ".join(map(str, var.type.shape))
        raise invalid(where, f"is declared [{shown}], but is [{actual}]")
