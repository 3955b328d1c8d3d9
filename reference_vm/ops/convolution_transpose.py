"""conv_transpose: the convolution that spreads each element over a window, and adds up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.definition import Array, Attr, DataError, Namespace, OpCall, OpDef, Operand
from reference_vm.ops.numerics import lifted
from reference_vm.ops.operands import agreed, shaped
from reference_vm.ops.products import product
from reference_vm.ops.shapes import greatest
from reference_vm.ops.windows import (
    ATTRS,
    OPTIONAL_TUPLE,
    Windows,
    check_vector,
    check_window_attrs,
    windows_of,
)
from reference_vm.types import Dim, TensorType, Type
from reference_vm.types import dim as dims
from reference_vm.types.dtype import FLOATS


@final
@dataclass(frozen=True, slots=True)
class _Spread:
    """Where the windows of the result lie, and which part of it is kept."""

    windows: Windows
    output_padding: tuple[int, ...]
    output_shape: tuple[int, ...] | None

    def full(self, axis: int, size: Dim) -> Dim:
        """Return how many elements all windows span together."""
        steps = dims.multiply(self.windows.strides[axis], dims.subtract(size, 1))
        return dims.add(steps, self.windows.extent(axis))

    def kept(self, axis: int, size: Dim) -> tuple[Dim, Dim]:
        """Return how many elements are left out in front, and how many are kept after them."""
        windows, reach = self.windows, dims.add(self.full(axis, size), self.output_padding[axis])
        if self.output_shape is not None:
            return self._centred(reach, self.output_shape[axis])
        if windows.auto_pad.startswith("SAME"):
            return self._centred(reach, dims.multiply(size, windows.strides[axis]))
        if windows.auto_pad == "VALID":
            return 0, reach
        before, after = windows.pads[axis], windows.pads[axis + len(windows.kernel)]
        return before, dims.subtract(reach, before + after)

    def _centred(self, reach: Dim, size: Dim) -> tuple[Dim, Dim]:
        total = greatest(dims.subtract(reach, size), 0)
        half = dims.floordiv(total, 2)
        return (half if self.windows.auto_pad == "SAME_UPPER" else dims.subtract(total, half)), size


def _spread(
    kernel: Sequence[Dim],
    *,
    output_padding: tuple[int, ...] | None,
    output_shape: tuple[int, ...] | None,
    **attrs: Any,
) -> _Spread:
    windows = windows_of(tuple(kernel), **attrs)
    return _Spread(windows, output_padding or (0,) * len(kernel), output_shape)


_ATTRS: Final = {
    **ATTRS,
    "group": Attr((int,), 1),
    "output_padding": OPTIONAL_TUPLE,
    "output_shape": OPTIONAL_TUPLE,
}


def _infer(call: OpCall) -> Type:
    x, w = tensor_of(call, 0, FLOATS), call.tensor(1)
    agree_on_dtype(call, (0, 1, 2))
    rank = x.rank if x.rank is not None else w.rank
    if rank is None:
        return TensorType(x.dtype, None)
    if rank < 3:
        raise call.error("rank-mismatch", f"operand x has rank {rank}, expected 3 or more")
    check_window_attrs(call, rank - 2)
    check_vector(call, "output_padding", rank - 2, 0)
    check_vector(call, "output_shape", rank - 2, 0)
    x_shape, w_shape = shaped(call, 0, rank), shaped(call, 1, rank)
    channels = agreed(call, x_shape[1], w_shape[0], "the number of channels of x")
    _check_group(call, channels)
    features = dims.multiply(w_shape[1], call.attrs["group"])
    if call.present(2):
        features = agreed(call, features, shaped(call, 2, 1)[0], "the number of feature maps")
    return TensorType(x.dtype, (x_shape[0], features, *_outputs(call, x_shape, w_shape)))


def _check_group(call: OpCall, channels: Dim) -> None:
    group: int = call.attrs["group"]
    if group < 1:
        raise call.error("attribute-value", f"group is {group}, expected at least 1")
    if isinstance(channels, int) and channels % group:
        raise call.error("shape-mismatch", f"{channels} channels do not divide into {group} groups")


def _outputs(call: OpCall, x_shape: Sequence[Dim], w_shape: Sequence[Dim]) -> list[Dim]:
    attrs = {name: call.attrs[name] for name in _ATTRS if name != "group"}
    spread = _spread(w_shape[2:], **attrs)
    found = [spread.kept(axis, size)[1] for axis, size in enumerate(x_shape[2:])]
    for axis, size in enumerate(found):
        if isinstance(size, int) and size < 0:
            raise call.error("shape-mismatch", f"the padding of spatial axis {axis} leaves nothing")
    return found


@lifted
def _compute(
    xp: Namespace, x: Array, w: Array, b: Array | None = None, *, group: int, **attrs: Any
) -> Array:
    if x.shape[1] != w.shape[0] or x.shape[1] % group:
        raise DataError(
            "shape-mismatch",
            f"{x.shape[1]} channels do not fit weights of shape {w.shape} in {group} groups",
        )
    result = _scatter(xp, x, w, _spread(w.shape[2:], **attrs), group)
    if b is not None:
        result += b.reshape(-1, *(1,) * (x.ndim - 2))
    return result


def _scatter(xp: Namespace, x: Array, w: Array, spread: _Spread, group: int) -> Array:
    """Return ``x`` spread by the kernels ``w``, in fresh memory."""
    images, channels, *sizes = x.shape
    features = w.shape[1] * group
    kept: list[Any] = [spread.kept(axis, size) for axis, size in enumerate(sizes)]
    full: list[Any] = [spread.full(axis, size) for axis, size in enumerate(sizes)]
    reach = [max(f, before + n) for f, (before, n) in zip(full, kept, strict=True)]
    result = xp.zeros((images, features, *reach), dtype=x.dtype)
    columns = x.reshape(images, group, channels // group, math.prod(sizes))
    per_group = w.reshape(group, channels // group, w.shape[1], math.prod(w.shape[2:]))
    for index, offset in enumerate(itertools.product(*map(range, w.shape[2:]))):
        weights = per_group[..., index].swapaxes(-1, -2)
        part = product(xp, weights, columns).reshape(images, features, *sizes)
        result[(slice(None), slice(None), *_places(spread.windows, offset, sizes))] += part
    cut = tuple(slice(before, before + n) for before, n in kept)
    return xp.ascontiguousarray(result[(slice(None), slice(None), *cut)])


def _places(windows: Windows, offset: Sequence[int], sizes: Sequence[int]) -> list[slice]:
    """Return where one kernel element of every window falls, on each axis."""
    spans = zip(offset, windows.dilations, windows.strides, sizes, strict=True)
    return [slice(o * d, o * d + (n - 1) * s + 1 if n else 0, s) for o, d, s, n in spans]


CONV_TRANSPOSE: Final = OpDef(
    name="conv_transpose",
    summary="Spread each element over a window by kernels and add up: the gradient of conv.",
    operands=(Operand("x"), Operand("w"), Operand("b", optional=True)),
    infer=_infer,
    compute=_compute,
    attrs=_ATTRS,
    origin="onnx",
)
