"""``LabelEncoder``: look each element up in a list of keys, and give the value beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reference_vm.exchange.node import OnnxNode
from reference_vm.exchange.onnx_ops_casts import cast
from reference_vm.ir.nodes import Var
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import I64

_DEFAULTS = {"int64s": "default_int64", "floats": "default_float"}


def label_encoder(node: OnnxNode) -> Var:
    """Compare with all keys at once; the place of the first that is equal gives the value.

    Raises:
        CompileError: ``unsupported-operator``: keys or values are texts; ``invalid-model``: they
            do not fit each other.
    """
    build, x = node.build, node.input(0)
    keys, _ = _column(node, "keys")
    values, kind = _column(node, "values")
    if keys.shape != values.shape or not keys.size:
        raise node.invalid(f"there are {keys.size} keys, but {values.size} values")
    default = _default(node, kind, values.dtype)
    known = build.constant(keys.astype(to_numpy(node.dtype())))
    equal = build.call("equal", build.call("expand_dims", x, axes=(-1,)), known)
    place = build.call("argmax", cast(node, equal, I64), axis=-1)
    found = build.call("take", build.constant(values), place, axis=0)
    any_ = build.call("any", equal, axis=(-1,))
    return build.call("where", any_, found, build.constant(default))


def _column(node: OnnxNode, name: str) -> tuple[npt.NDArray[Any], str]:
    """Return keys or values, and how the attribute that has them ends."""
    if node.has(f"{name}_strings") and node.texts(f"{name}_strings"):
        raise node.unsupported(f"{name} that are texts have no dtype here")
    if node.has(f"{name}_int64s"):
        return np.asarray(node.integers(f"{name}_int64s"), np.int64), "int64s"
    if node.has(f"{name}_floats"):
        return np.asarray(node.numbers(f"{name}_floats"), np.float32), "floats"
    if not node.has(f"{name}_tensor"):
        raise node.invalid(f"{name} are missing")
    return _array(node, f"{name}_tensor").reshape(-1), "tensor"


def _array(node: OnnxNode, name: str) -> npt.NDArray[Any]:
    constant = node.constant(name)
    return np.frombuffer(constant.data, to_numpy(constant.dtype))


def _default(node: OnnxNode, kind: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return what an element without a key gives."""
    if kind == "tensor" and node.has("default_tensor"):
        return _array(node, "default_tensor").reshape(())
    if kind == "tensor":
        return np.asarray(0 if dtype.kind == "f" else -1, dtype)
    given = node.number("default_float") if kind == "floats" else node.integer("default_int64")
    return np.asarray(given, dtype)


__all__ = ["label_encoder"]
