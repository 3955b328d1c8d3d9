"""The array namespace of one device: names of the array API standard, over its operators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, Final, final

import numpy as np

from reference_vm.arrays.array import DeviceArray
from reference_vm.arrays.memory import Given, Sizes, upload
from reference_vm.devices.api import DeviceApi

UNARY: Final = (
    *("abs", "negative", "sign", "square", "sqrt", "reciprocal", "floor", "ceil", "round", "exp"),
    *("log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh"),
    *("acosh", "atanh", "isnan", "isinf", "logical_not"),
)
BINARY: Final = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "maximum"),
    *("minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("bitwise_left_shift", "bitwise_right_shift", "matmul"),
)
FOLDS: Final = ("sum", "prod", "max", "min", "mean", "all", "any")
_ON_TRUTHS: Final = {"bitwise_and": "logical_and", "bitwise_or": "logical_or"}
_TRUTHS: Final = _ON_TRUTHS | {"bitwise_xor": "logical_xor"}
_DTYPES: Final = {
    **{name: np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16")},
    **{name: np.dtype(name) for name in ("uint32", "uint64", "float16", "float32", "float64")},
    "bool": np.dtype(np.bool_),
}
_KINDS: Final = {"b": bool, "i": int, "u": int, "f": float}

Axis = int | Sequence[int] | None


@final
class Namespace:
    """What can be computed on a device; every function is launched there."""

    pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None

    def __init__(self, device: DeviceApi) -> None:
        self.device = device

    def __repr__(self) -> str:
        return f"the array namespace of {self.name}"

    def __getattr__(self, name: str) -> Any:
        if name in UNARY:
            return partial(self.unary, name)
        if name in BINARY:
            return partial(self.binary, name)
        if name in FOLDS:
            return partial(self.fold, name)
        if name in _DTYPES:
            return _DTYPES[name]
        raise AttributeError(f"{self!r} has no {name}; it has {', '.join(self.__dir__())}")

    def __dir__(self) -> list[str]:
        own = {name for name in vars(type(self)) if not name.startswith("_")}
        own -= {"binary", "call", "fold", "item", "name", "place", "size", "unary"}
        return sorted({*own, *UNARY, *BINARY, *FOLDS, *_DTYPES})

    @property
    def name(self) -> str:
        """The device's name."""
        return str(self.device.name)

    # what arrays are made of

    def asarray(self, data: Any, dtype: Any = None) -> DeviceArray:
        """Return a copy of host data on the device, or ``data`` if it is here already."""
        if isinstance(data, DeviceArray):
            found = self.place(data)
            return found if dtype is None else self.astype(found, dtype)
        host = np.asarray(data, dtype)
        if dtype is None and not hasattr(data, "dtype") and host.dtype == np.float64:
            host = host.astype(np.float32)  # what the language's programs compute in
        return DeviceArray(self, upload(self.device, host))

    def zeros(self, shape: Any, dtype: Any = np.float32) -> DeviceArray:
        return self.full(shape, 0, dtype)

    def ones(self, shape: Any, dtype: Any = np.float32) -> DeviceArray:
        return self.full(shape, 1, dtype)

    def full(self, shape: Any, value: Any, dtype: Any = np.float32) -> DeviceArray:
        sizes = Sizes(shape if isinstance(shape, Sequence) else (shape,))
        return self.call("full", sizes, self.asarray(value, dtype))

    def zeros_like(self, x: DeviceArray) -> DeviceArray:
        return self.full(x.shape, 0, x.dtype)

    def ones_like(self, x: DeviceArray) -> DeviceArray:
        return self.full(x.shape, 1, x.dtype)

    def arange(self, *bounds: int, dtype: Any = np.int64) -> DeviceArray:
        return self.asarray(np.arange(*bounds, dtype=dtype))

    def astype(self, x: DeviceArray, dtype: Any) -> DeviceArray:
        from reference_vm.types.arrays import from_numpy

        return self.call("cast", self.place(x), to=from_numpy(dtype))

    # element by element

    def unary(self, name: str, x: DeviceArray) -> DeviceArray:
        return self.call(name, self.place(x))

    def binary(self, name: str, x: Any, y: Any) -> DeviceArray:
        left, right = self._together(x, y)
        if left.dtype == np.bool_ and name in _TRUTHS:
            name = _TRUTHS[name]
        return self.call(name, left, right)

    def bitwise_invert(self, x: DeviceArray) -> DeviceArray:
        return self.unary("logical_not" if x.dtype == np.bool_ else "bitwise_invert", x)

    def isfinite(self, x: DeviceArray) -> DeviceArray:
        return self.logical_not(self.logical_or(self.isnan(x), self.isinf(x)))  # type: ignore[no-any-return]

    def where(self, condition: DeviceArray, x: Any, y: Any) -> DeviceArray:
        return self.call("where", self.place(condition), *self._together(x, y))

    def clip(self, x: DeviceArray, low: Any = None, high: Any = None) -> DeviceArray:
        ends = (None if end is None else self._like(end, x) for end in (low, high))
        return self.call("clip", self.place(x), *ends)

    # along axes

    def fold(self, name: str, x: DeviceArray, *, axis: Axis = None, keepdims: bool = False) -> Any:
        found = self.place(x)
        if name in ("sum", "prod") and found.dtype.kind in "iub":
            wide = np.uint64 if found.dtype.kind == "u" else np.int64  # as the standard says
            found = self.astype(found, wide)
        axes = (axis,) if isinstance(axis, int) else axis if axis is None else tuple(axis)
        return self.call(name, found, axis=axes, keepdims=keepdims)

    def argmax(self, x: DeviceArray, *, axis: int | None = None, keepdims: bool = False) -> Any:
        return self._place_of("argmax", x, axis, keepdims)

    def argmin(self, x: DeviceArray, *, axis: int | None = None, keepdims: bool = False) -> Any:
        return self._place_of("argmin", x, axis, keepdims)

    def _place_of(self, name: str, x: DeviceArray, axis: int | None, keepdims: bool) -> Any:
        if axis is None:
            return self.call(name, self.reshape(x, (-1,)), axis=0, keepdims=keepdims)
        return self.call(name, self.place(x), axis=axis, keepdims=keepdims)

    def cumulative_sum(self, x: DeviceArray, *, axis: int = -1) -> DeviceArray:
        return self.call("cumulative_sum", self.place(x), axis=axis)

    # moving elements

    def reshape(self, x: DeviceArray, shape: Sequence[int]) -> DeviceArray:
        sizes = tuple(shape)
        if sizes.count(-1) == 1:
            rest = prod(size for size in sizes if size != -1)
            filled = x.size // rest if rest else 0
            sizes = tuple(filled if size == -1 else size for size in sizes)
        return self.call("reshape", self.place(x), Sizes(sizes), allow_zero=True)

    def permute_dims(self, x: DeviceArray, axes: Sequence[int]) -> DeviceArray:
        return self.call("permute_dims", self.place(x), axes=tuple(axes))

    def matrix_transpose(self, x: DeviceArray) -> DeviceArray:
        *outer, row, column = range(x.ndim)
        return self.permute_dims(x, (*outer, column, row))

    def expand_dims(self, x: DeviceArray, *, axis: int = 0) -> DeviceArray:
        return self.call("expand_dims", self.place(x), axes=(axis,))

    def squeeze(self, x: DeviceArray, axis: int | Sequence[int]) -> DeviceArray:
        axes = (axis,) if isinstance(axis, int) else tuple(axis)
        return self.call("squeeze", self.place(x), axes=axes)

    def broadcast_to(self, x: DeviceArray, shape: Sequence[int]) -> DeviceArray:
        return self.call("broadcast_to", self.place(x), Sizes(shape))

    def flip(self, x: DeviceArray, *, axis: Axis = None) -> DeviceArray:
        axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        return self.call("flip", self.place(x), axes=tuple(axes))

    def tile(self, x: DeviceArray, repetitions: Sequence[int]) -> DeviceArray:
        found, times = self.place(x), tuple(repetitions)
        while found.ndim < len(times):
            found = self.expand_dims(found)
        times = (1,) * (found.ndim - len(times)) + times
        return self.call("tile", found, np.array(times, np.int64))

    def concat(self, arrays: Sequence[DeviceArray], *, axis: int = 0) -> DeviceArray:
        return self.call("concat", *map(self.place, arrays), axis=axis)

    def stack(self, arrays: Sequence[DeviceArray], *, axis: int = 0) -> DeviceArray:
        return self.concat([self.expand_dims(x, axis=axis) for x in arrays], axis=axis)

    def tril(self, x: DeviceArray, *, k: int = 0) -> DeviceArray:
        return self.call("tril", self.place(x), np.array(k, np.int64))

    def triu(self, x: DeviceArray, *, k: int = 0) -> DeviceArray:
        return self.call("triu", self.place(x), np.array(k, np.int64))

    def take(self, x: DeviceArray, indices: DeviceArray, *, axis: int = 0) -> DeviceArray:
        return self.call("take", self.place(x), self.place(indices), axis=axis)

    def take_along_axis(
        self, x: DeviceArray, indices: DeviceArray, *, axis: int = -1
    ) -> DeviceArray:
        return self.call("take_along_axis", self.place(x), self.place(indices), axis=axis)

    def item(self, x: DeviceArray, key: Any) -> DeviceArray:
        """Return ``x[key]``."""
        from reference_vm.arrays import indexing

        return indexing.item(self, x, key)

    # one launch

    def call(self, op: str, *operands: DeviceArray | Given, **attrs: Any) -> DeviceArray:
        """Return the result of an operator of the language.

        Raises:
            TypeError: It does not take these types.
            ValueError: It does not take these shapes or data.
        """
        from reference_vm.arrays.launching import call

        given = [o.tensor if isinstance(o, DeviceArray) else o for o in operands]
        (result,) = call(self.device, op, given, **attrs)
        return DeviceArray(self, result)

    def place(self, x: Any) -> DeviceArray:
        """Return ``x``, which must be of this device.

        Raises:
            TypeError: It is not.
        """
        if not isinstance(x, DeviceArray):
            raise TypeError(
                f"found {type(x).__name__}, expected an array of {self.name}; put it there first "
                "by device.put or xp.asarray"
            )
        if x.namespace.device is not self.device:
            raise TypeError(
                f"found an array of {x.device}, expected one of this {self.name}; copy it by "
                "device.put(other.get(array))"
            )
        return x

    def _together(self, x: Any, y: Any) -> tuple[DeviceArray, DeviceArray]:
        """Return two operands of one dtype; Python's numbers take that of the array."""
        if not isinstance(x, DeviceArray):
            return self._like(x, y), self.place(y)
        if not isinstance(y, DeviceArray):
            return self.place(x), self._like(y, x)
        left, right = self.place(x), self.place(y)
        if left.dtype == right.dtype:
            return left, right
        kinds = {"i" if a.dtype.kind == "u" else a.dtype.kind for a in (left, right)}
        wide = np.result_type(left.dtype, right.dtype)
        if len(kinds) > 1 or wide.kind not in (left.dtype.kind, right.dtype.kind):
            raise TypeError(f"found {left.dtype} and {right.dtype}; cast one by xp.astype")
        return tuple(a if a.dtype == wide else self.astype(a, wide) for a in (left, right))  # type: ignore[return-value]

    def _like(self, number: Any, array: Any) -> DeviceArray:
        """Return a number of Python's in the dtype of ``array``."""
        dtype = self.place(array).dtype
        if isinstance(number, DeviceArray):
            return self.place(number)
        if not isinstance(number, bool | int | float):
            return self.place(number)
        if isinstance(number, bool) is not (dtype.kind == "b") or (
            isinstance(number, float) and dtype.kind != "f"
        ):
            raise TypeError(f"found {number!r} beside {dtype}; cast the array by xp.astype")
        return self.asarray(np.asarray(number, dtype))

    @staticmethod
    def size(shape: Sequence[int]) -> int:
        return prod(shape)


__all__ = ["BINARY", "FOLDS", "UNARY", "Namespace"]
