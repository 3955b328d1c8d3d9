"""Modules in the forms of others: ONNX models, and the published JSON tree, both ways.

The package onnx is loaded by the first model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.exchange.json_tree import from_json, to_json
from reference_vm.ir.nodes import Module

if TYPE_CHECKING:
    from onnx import ModelProto

    from reference_vm.exchange.import_model import Known
    from reference_vm.exchange.load import ModelSource


def from_onnx(source: ModelSource, known: Known | None = None) -> Module:
    """Return the module for a model: a path, its bytes, or a ``ModelProto``.

    The inputs in ``known`` become constants in place of parameters: a model whose shapes or axes
    depend on the values of its inputs is so translated for those values alone.

    Raises:
        CompileError: The model is at fault (`import_model.from_onnx` lists the codes), or onnx is
            not installed.
    """
    with _onnx():
        from reference_vm.exchange.import_model import from_onnx as imported
    return imported(source, known)


def to_onnx(module: Module, entry: str | None = None) -> ModelProto:
    """Return the model for one entry of ``module``: ``main``, or the only one there is.

    Raises:
        CompileError: The module is at fault, ONNX cannot express it, or onnx is not installed.
    """
    with _onnx():
        from reference_vm.exchange.export_model import to_onnx as exported
    return exported(module, entry)


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
        entry: The function; ``main``, or the only one there is, if none is named.
        devices: The devices of the model's configuration, the host first.
        roles: The device of each role that the program leaves open.
        default: Where all runs that the program does not place; ``None`` to say nothing of it.

    Raises:
        CompileError: As for `to_onnx`.
    """
    with _onnx():
        from reference_vm.exchange.export_model import to_placed_onnx as exported
    return exported(module, entry, devices, roles, default)


@contextmanager
def _onnx() -> Iterator[None]:
    """Let an import inside end in a diagnostic where onnx is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "onnx":
            raise
        raise CompileError(catalog.missing_package("ONNX models", "onnx", "onnx")) from error


__all__ = ["from_json", "from_onnx", "to_json", "to_onnx", "to_placed_onnx"]
