"""How shapes, movement, indexing and creation are written in ONNX."""

from __future__ import annotations

from typing import Final

from reference_vm.exchange.element_types import to_element_type
from reference_vm.exchange.export_ops_elementwise import same
from reference_vm.exchange.export_writer import ExportCall, ExportRule, ExportTable

_LAST: Final = -(2**63) + 1
"""An end before the first element, for slices that run backwards."""


def _identity(call: ExportCall) -> str:
    return call.emit("Identity", call.inputs[0])


def _reshape(call: ExportCall) -> str:
    return call.emit("Reshape", *call.inputs, allowzero=int(call.attrs["allow_zero"]))


def _axes_operand(op: str) -> ExportRule:
    """Return the rule of an operator whose axes ONNX takes as an input."""

    def rule(call: ExportCall) -> str:
        axes = call.attrs["axes"]
        return call.emit(op, call.inputs[0], "" if axes is None else call.ints(axes))

    return rule


def _permute(call: ExportCall) -> str:
    axes = call.attrs["axes"]
    if axes is None:
        return call.emit("Transpose", call.inputs[0])
    if not axes:
        return call.emit("Identity", call.inputs[0])
    return call.emit("Transpose", call.inputs[0], perm=[axis % len(axes) for axis in axes])


def _split(call: ExportCall) -> tuple[str, ...]:
    count = call.attrs["num_outputs"]
    named = None if call.operand(1) else count
    axis = call.attrs["axis"]
    return call.writer.emit("Split", call.inputs, count, axis=axis, num_outputs=named)


def _flip(call: ExportCall) -> str:
    axes = call.attrs["axes"]
    if not axes:
        return call.emit("Identity", call.inputs[0])
    bounds = [call.ints([value] * len(axes)) for value in (-1, _LAST)]
    steps = call.ints([-1] * len(axes))
    return call.emit("Slice", call.inputs[0], *bounds, call.ints(axes), steps)


def _triangle(upper: int) -> ExportRule:
    def rule(call: ExportCall) -> str:
        return call.emit("Trilu", *call.inputs, upper=upper)

    return rule


def _top_k(call: ExportCall) -> tuple[str, ...]:
    x, k = call.inputs
    if call.types[1] is not None and getattr(call.types[1], "rank", 1) == 0:
        k = call.emit("Unsqueeze", k, call.ints((0,)))
    flags = {name: int(call.attrs[name]) for name in ("largest", "sorted")}
    return call.writer.emit("TopK", (x, k), 2, axis=call.attrs["axis"], **flags)


def _unique(call: ExportCall) -> tuple[str, ...]:
    ordered = int(call.attrs["sorted"])
    return call.writer.emit("Unique", call.inputs, 4, axis=call.attrs["axis"], sorted=ordered)


def _full(call: ExportCall) -> str:
    shape, value = call.inputs
    return call.emit("Expand", value, shape)


def _eye_like(call: ExportCall) -> str:
    dtype = call.attrs["dtype"]
    code = None if dtype is None else to_element_type(dtype)
    return call.emit("EyeLike", call.inputs[0], k=call.attrs["k"], dtype=code)


def _shape_of(call: ExportCall) -> str:
    return call.emit("Shape", call.inputs[0], start=call.attrs["start"], end=call.attrs["end"])


def _moved(call: ExportCall) -> str:
    """Where a value lives is not said in the graph."""
    return call.emit("Identity", call.inputs[0])


RULES: Final[ExportTable] = {
    "identity": _identity,
    "device_copy": _moved,
    "to_vdevice": _moved,
    "hint_on_device": _moved,
    "match_cast": _identity,
    "shape_to_tensor": _identity,
    "tensor_to_shape": _identity,
    "shape_of": _shape_of,
    "size_of": same("Size"),
    "reshape": _reshape,
    "flatten": same("Flatten"),
    "expand_dims": _axes_operand("Unsqueeze"),
    "squeeze": _axes_operand("Squeeze"),
    "permute_dims": _permute,
    "broadcast_to": same("Expand"),
    "expand": same("Expand"),
    "concat": same("Concat"),
    "split": _split,
    "slice": same("Slice"),
    "pad": same("Pad"),
    "tile": same("Tile"),
    "flip": _flip,
    "tril": _triangle(0),
    "triu": _triangle(1),
    "reverse_sequence": same("ReverseSequence"),
    "take": same("Gather"),
    "take_along_axis": same("GatherElements"),
    "gather_nd": same("GatherND"),
    "scatter_elements": same("ScatterElements"),
    "scatter_nd": same("ScatterND"),
    "one_hot": same("OneHot"),
    "compress": same("Compress"),
    "nonzero": same("NonZero"),
    "unique": _unique,
    "top_k": _top_k,
    "full": _full,
    "arange": same("Range"),
    "eye_like": _eye_like,
}


__all__ = ["RULES"]
