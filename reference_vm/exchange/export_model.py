"""A module of ours as an ONNX model.

What ONNX can express is first-order: straight lines, ``if``, tuples taken apart, calls of other
functions written out in place. The rest is refused with the reason, never exported without it.
Placement is not part of the graph; copies and hints become identities. Tuples of parameters and
results are flattened.
"""

from __future__ import annotations

from typing import Final

from onnx import ModelProto, helper, shape_inference

from reference_vm.exchange.export_graph import OPSET, Exporter
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
    verify.verify(module)
    typed = InferTypes().run(module, PassContext(OPS))
    function = _entry(typed, entry)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        Exporter(typed).graph(function),
        opset_imports=opsets,
        ir_version=IR_VERSION,
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


__all__ = ["IR_VERSION", "to_onnx"]
