"""What is known at compile time of the elements of small integer tensors and shape values.

After ``%s = shape_of(%x)`` with ``%x: f32[n, 4]`` the content of ``%s`` is ``(n, 4)``. It lets
chains that compute shapes keep symbolic dims.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Alias, Binding, Call, Constant, Function, Var
from reference_vm.ops.definition import Content, OpDef
from reference_vm.ops.typing import infer_call
from reference_vm.types import ShapeType, TensorType
from reference_vm.types.dtype import Kind

LIMIT: Final = 64
"""The most elements that are tracked."""


def of_constant(constant: Constant) -> Content | None:
    """Return the elements of an integer or bool constant of rank 0 or 1, if they are few."""
    dtype = constant.dtype
    if dtype.is_float or len(constant.shape) > 1:
        return None
    size, data = dtype.itemsize, constant.data
    if len(data) > LIMIT * size:
        return None
    signed = dtype.kind is Kind.SIGNED
    return tuple(
        int.from_bytes(data[i : i + size], "little", signed=signed)
        for i in range(0, len(data), size)
    )


def of_function(function: Function, ops: Mapping[str, OpDef]) -> dict[Var, Content]:
    """Return what is known of the variables of a typed function."""
    contents: dict[Var, Content] = {}
    for binding in rewrite.walk(function.body):
        content = _of_binding(binding, contents, ops)
        if content is not None:
            contents[binding.var] = content
    return contents


def _of_binding(
    binding: Binding, contents: Mapping[Var, Content], ops: Mapping[str, OpDef]
) -> Content | None:
    value, type_ = binding.value, binding.var.type
    if isinstance(type_, ShapeType):
        return type_.dims
    if not isinstance(type_, TensorType) or type_.dtype.is_float or (type_.rank or 0) > 1:
        return None
    match value:
        case Constant():
            return of_constant(value)
        case Alias(var=var):
            return contents.get(var)
        case Call(op=name) if name in ops and ops[name].content is not None:
            known = [contents.get(a) if isinstance(a, Var) else None for a in value.args]
            types = [a.type if isinstance(a, Var) else None for a in value.args]
            return infer_call(ops[name], types, value.attrs, known, value.span).content
        case _:
            return None


__all__ = ["LIMIT", "of_constant", "of_function"]
