"""Operators that write at indices: scatter_elements, scatter_nd.

The operand is never written: the result is a copy with updates. Several updates of one element are
applied in the order in which they stand; without a reduction the last one stays.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from reference_vm.ops.checks import INDICES, agree_on_dtype, expect_rank, tensor_of
from reference_vm.ops.definition import (
    Array,
    Attr,
    Compute,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.numerics import lifted
from reference_vm.ops.places import (
    INDEX,
    check_reach,
    expect_reach,
    mesh,
    split_tuples,
    tuple_length,
    within,
)
from reference_vm.ops.shapes import is_different, normalize_axis, str_shape
from reference_vm.types import Shape, TensorType
from reference_vm.types.dtype import BOOL

_UFUNCS: Final = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}


def _scattered(
    xp: Namespace, x: Array, places: tuple[Array, ...], updates: Array, reduction: str
) -> Array:
    result = xp.array(x)
    if reduction == "none":
        result[places] = updates
    elif xp is np:
        getattr(np, _UFUNCS[reduction]).at(result, places, updates)
    else:
        fold_in_order(xp, result, places, updates, getattr(xp, _UFUNCS[reduction]))
    return result


def fold_in_order(
    xp: Namespace, result: Array, places: tuple[Array, ...], updates: Array, fold: Compute
) -> None:
    """Fold updates into ``result``, in rounds: the first update of each place, then the second.

    For namespaces whose ``ufunc.at`` is missing, or leaves the order to chance.
    """
    cells = result.reshape(math.prod(result.shape[: len(places)]), -1)
    flat = xp.zeros((), dtype=xp.int64)
    for place, size in zip(places, result.shape, strict=False):
        flat = flat * size + place
    flat = flat.ravel()
    rows = updates.reshape(flat.shape[0], -1)
    order = xp.argsort(flat, kind="stable")
    sorted_ = flat[order]
    rounds = xp.arange(flat.shape[0]) - xp.searchsorted(sorted_, sorted_)
    for turn in range(int(rounds.max()) + 1 if flat.size else 0):
        now = order[rounds == turn]
        cells[flat[now]] = fold(cells[flat[now]], rows[now])


def _operands(call: OpCall) -> tuple[TensorType, TensorType, TensorType]:
    """Return the types of x, indices and updates.

    Raises:
        CompileError: Their dtypes do not fit each other or the reduction.
    """
    x, indices, updates = tensor_of(call, 0), tensor_of(call, 1, INDICES), tensor_of(call, 2)
    agree_on_dtype(call, (0, 2))
    if x.dtype == BOOL and call.attrs["reduction"] in ("add", "mul"):
        raise call.error("dtype-mismatch", f"bools have no reduction {call.attrs['reduction']}")
    return x, indices, updates


def _expect_updates(call: OpCall, updates: TensorType, expected: Shape) -> None:
    found = updates.shape
    if found is None:
        return
    if len(found) != len(expected) or any(map(is_different, found, expected)):
        shapes = f"updates is {str_shape(found)}, expected {str_shape(expected)}"
        raise call.error("shape-mismatch", shapes)


def _infer_elements(call: OpCall) -> TensorType:
    x, indices, updates = _operands(call)
    if indices.shape is not None:
        _expect_updates(call, updates, indices.shape)
    if x.shape is not None:
        axis = normalize_axis(call, call.attrs["axis"], len(x.shape))
        expect_rank(call, 1, (len(x.shape),))
        if indices.shape is not None:
            expect_reach(call, x.shape, indices.shape, axis)
    return TensorType(x.dtype, x.shape)


def _elements(
    xp: Namespace, x: Array, indices: Array, updates: Array, *, axis: int, reduction: str
) -> Array:
    if indices.shape != updates.shape:
        shapes = f"{list(indices.shape)} and {list(updates.shape)}"
        raise DataError("shape-mismatch", f"indices and updates have shapes {shapes}")
    check_reach(x.shape, indices.shape, axis)
    places = mesh(xp, within(xp, indices, x.shape[axis]), axis)
    return _scattered(xp, x, places, updates, reduction)


def _infer_nd(call: OpCall) -> TensorType:
    x, indices, updates = _operands(call)
    length = tuple_length(call, indices, x.rank)
    if x.shape is not None and indices.shape is not None and length is not None:
        _expect_updates(call, updates, (*indices.shape[:-1], *x.shape[length:]))
    return TensorType(x.dtype, x.shape)


def _nd(xp: Namespace, x: Array, indices: Array, updates: Array, *, reduction: str) -> Array:
    length = indices.shape[-1]
    expected = indices.shape[:-1] + x.shape[length:]
    if updates.shape != expected:
        shapes = f"{list(updates.shape)}, expected {list(expected)}"
        raise DataError("shape-mismatch", f"updates has shape {shapes}")
    places = split_tuples(xp, indices, x.shape[:length])
    return _scattered(xp, x, places, updates, reduction)


_REDUCTION: Final = Attr((str,), "none", ("none", *_UFUNCS))
_WRITES: Final = frozenset({Trait.CAN_FAIL})

OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="scatter_elements",
        summary="x with each update put at its place but for an axis, where the index is it.",
        operands=(X, INDEX, Operand("updates")),
        attrs={"axis": Attr((int,), 0), "reduction": _REDUCTION},
        infer=_infer_elements,
        compute=lifted(_elements),
        traits=_WRITES,
        origin="onnx",
    ),
    OpDef(
        name="scatter_nd",
        summary="x with slices put at index tuples, which lie on the indices' last axis.",
        operands=(X, INDEX, Operand("updates")),
        attrs={"reduction": _REDUCTION},
        infer=_infer_nd,
        compute=lifted(_nd),
        traits=_WRITES,
        origin="onnx",
    ),
)
