"""ONNX's own backend interface, so that ONNX's runner and whatever speaks it can drive us.

``onnx.backend.test.BackendTest(OnnxBackend, __name__)`` runs ONNX's node tests on this class. A
device is one of ONNX's (``CPU``, ``CUDA:1``) or one of ours (``sim:0``); the whole model runs
there.

A model whose shapes or axes depend on the values of its inputs cannot be translated before they
are known. Such a model is translated at the first run, and again for other values of those inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, Union, final

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep

from reference_vm.compiler import compile as compile_module
from reference_vm.devices.catalog import describe
from reference_vm.diagnostics import CompileError
from reference_vm.exchange import from_onnx
from reference_vm.exchange.element_types import to_element_type
from reference_vm.session import Session
from reference_vm.types import DeviceName
from reference_vm.types.arrays import from_numpy

Array: TypeAlias = npt.NDArray[Any]
Inputs: TypeAlias = Union[Sequence[Any], Mapping[str, Any]]

KNOWN_LIMIT: Final = 64
"""Integer and bool inputs of up to this many elements may decide shapes and axes."""

KNOWN_FLOATS: Final = 8
"""So may floats of up to this many: scales, one for each axis."""

_HOPELESS: Final = frozenset({"invalid-model", "external-data", "unsupported-type"})
"""Codes of refusals that no values of the inputs would lift."""


def _device_name(device: str) -> DeviceName:
    """Return our name for a device of ONNX's or ours.

    Raises:
        ValueError: ``device`` is neither.
    """
    kind, colon, index = device.partition(":")
    return DeviceName.parse(f"{kind.lower()}{colon}{index}")


def _array(value: Any) -> Array:
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value)


@final
class Prepared(BackendRep):
    """A model, translated and loaded, or waiting for the values that decide its shapes."""

    def __init__(self, model: ModelProto, device: DeviceName) -> None:
        self._model = model
        self._device = device
        self._inputs = _input_names(model)
        self._sessions: dict[bytes, Session] = {}
        self._refusal = self._prepare()

    def _prepare(self) -> CompileError | None:
        """Load the model; return why not if values of its inputs may yet change that.

        Raises:
            CompileError: They cannot.
        """
        try:
            self._sessions[b""] = self._session({})
        except CompileError as error:
            codes = {d.code for d in error.diagnostics}
            if codes & _HOPELESS or not _may_decide(self._model):
                raise
            return error
        return None

    def _session(self, known: Mapping[str, Array]) -> Session:
        module = from_onnx(self._model, known)
        return Session(compile_module(module, default=str(self._device)), trace=False)

    def run(self, inputs: Inputs, **kwargs: Any) -> tuple[Array, ...]:
        """Return the outputs, in the graph's order.

        ``inputs`` are in the order of the graph's inputs that no initializer backs, or by name.

        Raises:
            CompileError: The model is refused for the values of these inputs.
            ExecutionError: The run failed.
        """
        given = self._by_name(inputs)
        known = {} if self._refusal is None else {n: a for n, a in given.items() if _decides(a)}
        args = [array for name, array in given.items() if name not in known]
        found = self._session_for(known).run("main", *args)
        return found if isinstance(found, tuple) else (found,)

    def _by_name(self, inputs: Inputs) -> dict[str, Array]:
        values = inputs if isinstance(inputs, Mapping) else self._in_order(inputs)
        missing = [name for name in self._inputs if name not in values]
        if missing or len(values) != len(self._inputs):
            expected = ", ".join(self._inputs)
            raise ValueError(f"found inputs {', '.join(values)}, expected {expected}")
        return {name: _array(values[name]) for name in self._inputs}

    def _in_order(self, inputs: Sequence[Any]) -> dict[str, Any]:
        values = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        if len(values) != len(self._inputs):
            raise ValueError(f"found {len(values)} inputs, expected {len(self._inputs)}")
        return dict(zip(self._inputs, values, strict=True))

    def _session_for(self, known: Mapping[str, Array]) -> Session:
        key = b"\0".join(a.tobytes() + str(a.shape).encode() for a in known.values())
        if key not in self._sessions:
            if self._refusal is not None and not known:
                raise self._refusal
            self._sessions[key] = self._session(known)
        return self._sessions[key]


def _input_names(model: ModelProto) -> tuple[str, ...]:
    backed = {tensor.name for tensor in model.graph.initializer}
    return tuple(i.name for i in model.graph.input if i.name not in backed)


def _may_decide(model: ModelProto) -> bool:
    """Whether some input may decide a shape, as far as its declared type tells."""
    kinds = (i.type.tensor_type for i in model.graph.input)
    return any(not k.HasField("shape") or len(k.shape.dim) <= 1 for k in kinds)


def _decides(array: Array) -> bool:
    """Whether an input may decide a shape, by its type and size: axes, sizes, scales."""
    limit = KNOWN_LIMIT if array.dtype.kind in "iub" else KNOWN_FLOATS
    return array.ndim <= 1 and array.size <= limit


@final
class OnnxBackend(Backend):
    """Runs ONNX models through compiler and virtual machine."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model can be prepared."""
        try:
            Prepared(model, _device_name(device))
        except CompileError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """Return the model ready to run.

        Raises:
            CompileError: The model is refused; the diagnostic names the node.
        """
        return Prepared(model, _device_name(device))

    @classmethod
    def run_model(
        cls, model: ModelProto, inputs: Inputs, device: str = "CPU", **kwargs: Any
    ) -> tuple[Array, ...]:
        """Prepare the model and run it once."""
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Inputs,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Array, ...]:
        """Run one node; ``opset_version`` says of which operator set, the newest if it is absent.

        The outputs' types are inferred; ``outputs_info`` is not needed.
        """
        opset = kwargs.get("opset_version", defs.onnx_opset_version())
        return cls.run_model(_model_of(node, inputs, opset), inputs, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device can be opened here."""
        try:
            name = _device_name(device)
        except ValueError:
            return False
        return describe(name).available


def _model_of(node: NodeProto, inputs: Inputs, opset: int) -> ModelProto:
    """Return a model of one node whose inputs have the types and sizes of ``inputs``."""
    names = list(dict.fromkeys(name for name in node.input if name))
    values = inputs.values() if isinstance(inputs, Mapping) else inputs
    keys = list(inputs) if isinstance(inputs, Mapping) else names
    arrays = {key: _array(value) for key, value in zip(keys, values, strict=True)}
    infos = [
        helper.make_tensor_value_info(
            name, to_element_type(from_numpy(arrays[name].dtype)), arrays[name].shape
        )
        for name in names
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], node.op_type, infos, outputs)
    opsets = [helper.make_opsetid(node.domain, opset)]
    return helper.make_model(graph, opset_imports=opsets)


__all__ = ["KNOWN_FLOATS", "KNOWN_LIMIT", "OnnxBackend", "Prepared"]
