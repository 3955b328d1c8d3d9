"""How neural-network operators, linear algebra and signals are written in ONNX."""

from __future__ import annotations

from typing import Any, Final

from reference_vm.exchange.element_types import to_element_type
from reference_vm.exchange.export_ops_elementwise import same
from reference_vm.exchange.export_writer import ExportCall, ExportRule, ExportTable
from reference_vm.types import DType


def _plain(attrs: Any) -> dict[str, Any]:
    """Return attributes as ONNX takes them: bools as integers, dtypes as numbers."""
    return {name: _value(value) for name, value in attrs.items()}


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return to_element_type(value) if isinstance(value, DType) else value


def _node(op: str) -> ExportRule:
    """Return the rule of one node whose attributes have the same names."""

    def rule(call: ExportCall) -> str:
        return call.emit(op, *call.inputs, **_plain(call.attrs))

    return rule


def _windows(op: str) -> ExportRule:
    """Return the rule of an operator with windows; pads stay out where ONNX works them out."""

    def rule(call: ExportCall) -> str:
        return call.emit(op, *call.inputs, **_window_attrs(call))

    return rule


def _window_attrs(call: ExportCall) -> dict[str, Any]:
    attrs = _plain(call.attrs)
    if attrs["auto_pad"] != "NOTSET":
        attrs["pads"] = None
    return attrs


def _max_pool_with_indices(call: ExportCall) -> tuple[str, ...]:
    return call.writer.emit("MaxPool", call.inputs, 2, **_window_attrs(call))


def _recurrent(op: str, results: int) -> ExportRule:
    def rule(call: ExportCall) -> tuple[str, ...]:
        attrs = _plain(call.attrs)
        shape = call.tensor(2).shape
        if shape is None or not isinstance(shape[2], int):
            raise call.inexpressible("the hidden size is not known")
        attrs["hidden_size"] = shape[2]
        return call.writer.emit(op, call.inputs, results, **attrs)

    return rule


def _stft(call: ExportCall) -> str:
    signal, *rest = call.inputs
    if call.rank() == 2:
        signal = call.emit("Unsqueeze", signal, call.ints((2,)))
    return call.emit("STFT", signal, *rest, onesided=int(call.attrs["onesided"]))


def _quantize(call: ExportCall) -> str:
    attrs = _plain(call.attrs)
    if call.operand(2):
        attrs["output_dtype"] = None
    return call.emit("QuantizeLinear", *call.inputs, **attrs)


def _dequantize(call: ExportCall) -> str:
    named = call.attrs["output_dtype"]
    if named is not None and named != call.tensor(1).dtype:
        raise call.inexpressible("ONNX dequantizes to the dtype of the scale")
    return call.emit(
        "DequantizeLinear",
        *call.inputs,
        axis=call.attrs["axis"],
        block_size=call.attrs["block_size"],
    )


def _dynamic_quantize(call: ExportCall) -> tuple[str, ...]:
    return call.writer.emit("DynamicQuantizeLinear", call.inputs, 3)


def _non_max_suppression(call: ExportCall) -> str:
    by_centre = int(bool(call.attrs["center_point_box"]))
    return call.emit("NonMaxSuppression", *call.inputs, center_point_box=by_centre)


def _roi_align(call: ExportCall) -> str:
    attrs = _plain(call.attrs)
    half_pixel = attrs.pop("half_pixel")
    attrs["coordinate_transformation_mode"] = "half_pixel" if half_pixel else "output_half_pixel"
    return call.emit("RoiAlign", *call.inputs, **attrs)


def _tree_ensemble(call: ExportCall) -> str:
    raise call.inexpressible("ONNX takes the tables of trees as attributes, not as operands")


def _bitcast(call: ExportCall) -> str:
    raise call.inexpressible("BitCast came with a later operator set than is written")


RULES: Final[ExportTable] = {
    "matmul": same("MatMul"),
    "einsum": same("Einsum"),
    "det": same("Det"),
    "conv": _windows("Conv"),
    "conv_transpose": _windows("ConvTranspose"),
    "conv_integer": _windows("ConvInteger"),
    "max_pool": _windows("MaxPool"),
    "max_pool_with_indices": _max_pool_with_indices,
    "average_pool": _windows("AveragePool"),
    "lp_pool": _windows("LpPool"),
    "softmax": same("Softmax"),
    "log_softmax": same("LogSoftmax"),
    "layer_norm": same("LayerNormalization"),
    "batch_norm": same("BatchNormalization"),
    "instance_norm": same("InstanceNormalization"),
    "lrn": same("LRN"),
    "lstm": _recurrent("LSTM", 3),
    "gru": _recurrent("GRU", 2),
    "rnn": _recurrent("RNN", 2),
    "stft": _stft,
    "dft": _node("DFT"),
    "resize": _node("Resize"),
    "grid_sample": _node("GridSample"),
    "quantize_linear": _quantize,
    "dequantize_linear": _dequantize,
    "dynamic_quantize_linear": _dynamic_quantize,
    "matmul_integer": same("MatMulInteger"),
    "non_max_suppression": _non_max_suppression,
    "roi_align": _roi_align,
    "tree_ensemble": _tree_ensemble,
    "bitcast": _bitcast,
}


__all__ = ["RULES"]
