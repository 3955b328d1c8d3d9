"""ONNX operators that make tensors: constants, filled shapes, ranges, identity matrices."""

from __future__ import annotations

from typing import Final

import numpy as np

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast, dtype_attribute
from reference_vm.exchange.refusals import unsupported_type
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import F32, I64

_FORMS: Final = (
    *("value", "sparse_value", "value_float", "value_floats", "value_int", "value_ints"),
    *("value_string", "value_strings"),
)


def _constant(node: OnnxNode) -> Var:
    forms = [name for name in _FORMS if node.has(name)]
    if len(forms) != 1:
        raise node.invalid(f"has {len(forms)} values, expected one")
    match forms[0]:
        case "value":
            return node.build.bind_constant(node.constant("value"))
        case "value_float":
            return node.build.constant(node.number("value_float"), F32)
        case "value_floats":
            return node.build.constant(np.asarray(node.numbers("value_floats")), F32)
        case "value_int":
            return node.build.constant(np.asarray(node.integer("value_int")), I64)
        case "value_ints":
            return node.build.ints(node.integers("value_ints"))
        case form:
            raise unsupported_type(node.where, form.replace("value_", "a ").replace("_value", ""))


def _constant_of_shape(node: OnnxNode) -> Var:
    if not node.has("value"):
        return node.build.call("full", node.input(0), node.build.constant(0.0, F32))
    value = node.constant("value")
    if value.shape not in ((), (1,)):
        raise node.invalid(f"value has the dims {list(value.shape)}, expected one element")
    filler = node.build.bind_constant(value)
    if value.shape:
        filler = node.build.call("squeeze", filler, axes=(0,))
    return node.build.call("full", node.input(0), filler)


def _range(node: OnnxNode) -> Var:
    """Halves are ranged over in f32, as ``stash_type`` 1 says."""
    dtype = node.dtype()
    wide = dtype.is_float and dtype.bits < 32
    if wide and node.has("stash_type") and node.integer("stash_type") != 1:
        raise node.unsupported(f"stash_type is {node.integer('stash_type')}, expected 1")
    ends = (_end(node, i) for i in range(3))
    wider = (cast(node, end, F32) if wide else end for end in ends)
    return cast(node, node.build.call("arange", *wider), dtype)


def _end(node: OnnxNode, index: int) -> Var:
    """Return a scalar input; bodies that ONNX publishes hand in vectors of one element."""
    if node.type(index).rank != 1:
        return node.input(index)
    return node.build.call("reshape", node.input(index), node.build.shape(()))


def _eye_like(node: OnnxNode) -> Var:
    dtype = dtype_attribute(node, "dtype") if node.has("dtype") else node.dtype()
    return node.build.call("eye_like", node.input(0), k=node.integer("k"), dtype=dtype)


def _trilu(node: OnnxNode) -> Var:
    op = "triu" if node.flag("upper") else "tril"
    operands = (node.input(0), node.input(1)) if node.given(1) else (node.input(0),)
    return node.build.call(op, *operands)


RULES: Final[RuleTable] = {
    "Constant": versions(_constant, 1, 9, 11, 12, 13, 19, 21, 23, 24, 25),
    "ConstantOfShape": versions(_constant_of_shape, 9, 20, 21, 23, 24, 25),
    "Range": versions(_range, 11, 27),
    "EyeLike": versions(_eye_like, 9, 22),
    "Trilu": versions(_trilu, 14),
}


__all__ = ["RULES"]
