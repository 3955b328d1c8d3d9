"""ONNX models to modules and back."""

from reference_vm.exchange.export_model import to_onnx
from reference_vm.exchange.import_model import from_onnx

__all__ = ["from_onnx", "to_onnx"]
