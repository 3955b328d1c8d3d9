"""The sizes that resize results in, and its type rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from reference_vm.ops.checks import integers as known_integers
from reference_vm.ops.checks import known_or_unknown, tensor_of
from reference_vm.ops.definition import Content, OpCall
from reference_vm.ops.shapes import int_axes, normalize_axes
from reference_vm.types import UNKNOWN, Dim, Shape, TensorType, Type
from reference_vm.types.dtype import COMPUTED, F32, FLOATS


def scaled(size: int, scale: Fraction) -> int:
    """Return an axis's size after scaling: the exact product, rounded down, as ONNX infers it."""
    return math.floor(size * scale)


def from_sizes(
    policy: str, sizes: Sequence[int], given: Sequence[int]
) -> tuple[list[Fraction], list[int]]:
    """Return the scales and sizes that ``given`` sizes ask of axes of ``sizes``, by ``policy``."""
    scales = [Fraction(new, old) for new, old in zip(given, sizes, strict=True)]
    if policy == "stretch":
        return scales, list(given)
    scale = min(scales) if policy == "not_larger" else max(scales)
    rounded = [int(scale * size + Fraction(1, 2)) for size in sizes]
    return [scale] * len(sizes), rounded


def infer(call: OpCall) -> Type:
    """Return the operand's type with the sizes of the chosen axes replaced."""
    x = tensor_of(call, 0, COMPUTED)
    _check_operands(call)
    if x.shape is None:
        return TensorType(x.dtype, None)
    chosen = int_axes(call, "axes")
    axes = normalize_axes(call, range(len(x.shape)) if chosen is None else chosen, len(x.shape))
    sizes = _new_sizes(call, [x.shape[axis] for axis in axes])
    shape = list(x.shape)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size
    return TensorType(x.dtype, tuple(shape))


def _check_operands(call: OpCall) -> None:
    if call.present(2) == call.present(3):
        found = "both" if call.present(2) else "neither"
        raise call.error("type-mismatch", f"found {found} of scales and sizes, expected one")
    if call.present(1):
        tensor_of(call, 1, FLOATS)
    if call.present(2):
        tensor_of(call, 2, (F32,))
    cropped = call.attrs["coordinate_transformation_mode"] == "tf_crop_and_resize"
    if cropped and not call.present(1):
        raise call.error("type-mismatch", "tf_crop_and_resize needs operand roi")
    if call.attrs["antialias"] and call.attrs["mode"] == "nearest":
        raise call.error("attribute-value", "antialias is for modes linear and cubic")


def _new_sizes(call: OpCall, old: Sequence[Dim]) -> Shape:
    if call.present(2):
        _check_count(call, 2, call.tensor(2).shape, len(old))
        return (UNKNOWN,) * len(old)
    given = known_integers(call, 3)
    if given is None:
        return (UNKNOWN,) * len(old)
    if len(given) != len(old):
        raise _wrong_count(call, 3, len(given), len(old))
    _check_sizes(call, given, old)
    return _by_policy(call, given, old)


def _check_sizes(call: OpCall, given: Content, old: Sequence[Dim]) -> None:
    if any(isinstance(size, int) and size < 0 for size in given):
        listed = ", ".join(map(str, given))
        raise call.error("shape-mismatch", f"sizes are [{listed}], but no size is negative")
    if any(size == 0 for size in old):
        message = "an axis without elements is not resized to a size"
        raise call.error("shape-mismatch", message)


def _by_policy(call: OpCall, given: Content, old: Sequence[Dim]) -> Shape:
    policy = call.attrs["keep_aspect_ratio_policy"]
    if policy == "stretch":
        return given
    numbers = [d for d in (*given, *old) if isinstance(d, int)]
    if len(numbers) < 2 * len(old) or not all(numbers[len(old) :]):
        return (UNKNOWN,) * len(old)
    return tuple(from_sizes(policy, numbers[len(old) :], numbers[: len(old)])[1])


def _check_count(call: OpCall, index: int, shape: Shape | None, expected: int) -> None:
    found = known_or_unknown(None, shape)
    if found is not None and len(found) != expected:
        raise _wrong_count(call, index, len(found), expected)


def _wrong_count(call: OpCall, index: int, found: int, expected: int) -> Exception:
    name = call.op.operand(index).name
    return call.error(
        "shape-mismatch", f"operand {name} has {found} elements, expected {expected}, one an axis"
    )


__all__ = ["from_sizes", "infer", "scaled"]
