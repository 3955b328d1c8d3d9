"""The one door to the language: all that the kit uses of `reference_vm`.

The kit needs to read programs, to know their operators, and to evaluate them; it never needs the
compiler or the virtual machine. What loads NumPy or onnx is imported when it is used: the oracle's
names are attributes that load it when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_vm.bytecode.symbols import lone_symbol
from reference_vm.diagnostics import CompileError, Diagnostic, DiagnosticError
from reference_vm.diagnostics.codes import CODES
from reference_vm.ir import nodes
from reference_vm.ir.nodes import Module
from reference_vm.source import Span
from reference_vm.types import (
    DTYPES,
    AdtType,
    DType,
    FunctionType,
    Poly,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    Unknown,
    VirtualDevice,
    leaves,
)
from reference_vm.types.dim import evaluate as evaluate_dim

if TYPE_CHECKING:
    import numpy as np

    from reference_vm.analysis.data_types import DataTypes
    from reference_vm.ops.definition import OpDef, Trait
    from reference_vm.ops.typing import infer_call
    from reference_vm.oracle import evaluate as oracle
    from reference_vm.oracle.estimate import Estimate
    from reference_vm.oracle.estimate import Result as OracleResult
    from reference_vm.oracle.evaluate import Evaluation
    from reference_vm.types.arrays import from_numpy, to_numpy

__all__ = [
    "CODES",
    "DTYPES",
    "AdtType",
    "CompileError",
    "DType",
    "DataTypes",
    "Diagnostic",
    "DiagnosticError",
    "Estimate",
    "Evaluation",
    "FunctionType",
    "Module",
    "OpDef",
    "OracleResult",
    "Poly",
    "ShapeType",
    "Span",
    "TensorType",
    "TupleType",
    "Type",
    "Trait",
    "Unknown",
    "VirtualDevice",
    "bytes_of",
    "elements_to_json",
    "evaluate_dim",
    "from_json",
    "from_numpy",
    "from_onnx",
    "infer_call",
    "leaves",
    "lone_symbol",
    "nodes",
    "numpy_dtype",
    "operators",
    "oracle",
    "parse",
    "print_module",
    "to_json",
    "to_numpy",
    "to_onnx",
    "to_placed_onnx",
    "tree_schema",
]

_LAZY = {
    "DataTypes": "reference_vm.analysis.data_types:DataTypes",
    "OpDef": "reference_vm.ops.definition:OpDef",
    "Trait": "reference_vm.ops.definition:Trait",
    "infer_call": "reference_vm.ops.typing:infer_call",
    "oracle": "reference_vm.oracle.evaluate",
    "Estimate": "reference_vm.oracle.estimate:Estimate",
    "Evaluation": "reference_vm.oracle.evaluate:Evaluation",
    "OracleResult": "reference_vm.oracle.estimate:Result",
    "from_numpy": "reference_vm.types.arrays:from_numpy",
    "to_numpy": "reference_vm.types.arrays:to_numpy",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _LAZY[name].partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def parse(text: str, name: str) -> Module:
    """Return the module that ``text`` says; ``name`` is what messages call it.

    Raises:
        DiagnosticError: The text is malformed.
    """
    from reference_vm.text import parse as parse_text

    return parse_text(text, name)


def print_module(module: Module) -> str:
    """Return the module's text."""
    from reference_vm.text import print_module as print_text

    return print_text(module)


def operators() -> Mapping[str, OpDef]:
    """Return the operators of the language, by name."""
    from reference_vm.ops.catalog import OPS

    return OPS


def tree_schema() -> Path:
    """Return the file of the JSON schema of programs."""
    from reference_vm.exchange import json_tree

    return Path(json_tree.__file__).with_name("tree.schema.json")


def to_json(module: Module) -> dict[str, Any]:
    """Return the module as the published JSON tree, new for each call."""
    from reference_vm.exchange import to_json as write

    return write(module)


def from_json(tree: Mapping[str, Any]) -> Module:
    """Return the module that a JSON tree says.

    Raises:
        DiagnosticError: The tree is malformed; says where.
    """
    from reference_vm.exchange import from_json as read

    return read(tree)


def from_onnx(model: Any) -> Module:
    """Return the module for an ONNX model: a path, bytes or a ``ModelProto``.

    Raises:
        DiagnosticError: The model is malformed, or uses what the language does not have.
    """
    from reference_vm.exchange import from_onnx as read

    return read(model)


def to_onnx(module: Module, entry: str | None = None) -> bytes:
    """Return one function of the module, ``main`` if none is named, as a serialized ONNX model.

    Raises:
        DiagnosticError: ONNX cannot express it; the diagnostic says what.
    """
    from reference_vm.exchange import to_onnx as write

    serialized: bytes = write(module, entry).SerializeToString()
    return serialized


def to_placed_onnx(
    module: Module,
    entry: str,
    devices: Sequence[str],
    roles: Mapping[str, str],
    default: str | None = None,
) -> tuple[bytes, tuple[str, ...]]:
    """Return one function as a serialized ONNX model with places, and what ONNX cannot say.

    Args:
        module: The program.
        entry: The function.
        devices: The devices of the model's configuration, the host first.
        roles: The device of each role that the program leaves open.
        default: Where all runs that the program does not place; ``None`` to say nothing of it.

    Raises:
        DiagnosticError: ONNX cannot express the function; the diagnostic says what.
    """
    from reference_vm.exchange import to_placed_onnx as write

    model, unsaid = write(module, entry, devices, roles, default)
    return model.SerializeToString(deterministic=True), unsaid


def elements_to_json(dtype: str, shape: tuple[int, ...], data: bytes) -> dict[str, Any]:
    """Return a tensor's elements as docs/reference/program-json.md says, under ``data`` or ``hex``.

    Args:
        dtype: The name of its dtype.
        shape: Its shape.
        data: Its bytes, little-endian, one byte for each element below eight bits.
    """
    from reference_vm.exchange.json_values import elements_to_json as write

    return write(nodes.Constant(DTYPES[dtype], shape, data))


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype for the language's ``name``, such as ``bf16``."""
    from reference_vm.types.arrays import NUMPY

    return NUMPY[name]


def bytes_of(type_: TensorType, sizes: Mapping[str, int]) -> int | None:
    """Return the bytes of a tensor without padding; ``None`` if its size is not known.

    Args:
        type_: The tensor's type.
        sizes: The value of each symbol.
    """
    if not type_.is_sized or type_.shape is None:
        return None
    elements = prod(evaluate_dim(dim, sizes) for dim in type_.shape)
    return -(-elements * type_.dtype.bits // 8)
