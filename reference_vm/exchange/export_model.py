"""A module of ours as an ONNX model.

What ONNX can express is first-order: straight lines, ``if``, loops, tuples taken apart, calls of
other functions written out in place. The rest is refused with the reason, never exported without
it.
Copies and hints become identities. Tuples of parameters and results are flattened. Placement is
left out, or said in ONNX's own device configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from onnx import ModelProto, helper, shape_inference

from reference_vm.exchange.export_graph import OPSET, Exporter
from reference_vm.exchange.export_placement import IR_VERSION as PLACED_IR_VERSION
from reference_vm.exchange.export_placement import NodePlaces
from reference_vm.exchange.export_writer import inexpressible
from reference_vm.ir import verify
from reference_vm.ir.nodes import Function, Module
from reference_vm.ops.catalog import OPS
from reference_vm.passes.context import PassContext
from reference_vm.passes.infer_types import InferTypes

IR_VERSION: Final = 10
"""Of the model's format; the newest that goes with `OPSET`."""


def to_onnx(module: Module, entry: str | None = None) -> ModelProto:
    """Return the model for one entry of ``module``: ``main``, or the only one there is.

    Raises:
        CompileError: The module is at fault, or ``inexpressible``: ONNX has no way to say what it
            does; the message says what and where.
    """
    return _model(module, entry, None)


def to_placed_onnx(
    module: Module,
    entry: str | None,
    devices: Sequence[str],
    roles: Mapping[str, str],
    default: str | None = None,
) -> tuple[ModelProto, tuple[str, ...]]:
    """Return the model for one entry, with the places of its nodes, and what ONNX cannot say.

    Args:
        module: The program.
        entry: As for `to_onnx`.
        devices: The devices of the model's configuration, the host first.
        roles: The device of each role that the program leaves open.
        default: Where all runs that the program does not place; ``None`` to say nothing of it.

    Raises:
        CompileError: As for `to_onnx`.
    """
    places = NodePlaces(devices, roles, default)
    model = _model(module, entry, places)
    places.declare(model)
    return model, tuple(places.unsaid)


def _model(module: Module, entry: str | None, places: NodePlaces | None) -> ModelProto:
    verify.verify(module)
    typed = InferTypes().run(module, PassContext(OPS))
    function = _entry(typed, entry)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        Exporter(typed, places).graph(function),
        opset_imports=opsets,
        ir_version=IR_VERSION if places is None else PLACED_IR_VERSION,
        producer_name="hettest",
    )
    try:
        shape_inference.infer_shapes(model, check_type=True, strict_mode=False)
    except shape_inference.InferenceError as error:
        reason = " ".join(str(error).split())
        raise inexpressible(f"function @{function.name}", f"ONNX refuses it: {reason}") from error
    return model


def _entry(module: Module, name: str | None) -> Function:
    found = {f.name: f for f in module.entries}
    wanted = name or ("main" if "main" in found or len(found) != 1 else next(iter(found)))
    if wanted not in found:
        raise inexpressible(f"function @{wanted}", "the module has no such entry")
    return found[wanted]


__all__ = ["IR_VERSION", "to_onnx", "to_placed_onnx"]
