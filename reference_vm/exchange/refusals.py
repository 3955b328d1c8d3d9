"""Errors of the importer, with the place in words: an ONNX model has no text to point at."""

from __future__ import annotations

from dataclasses import replace

from reference_vm.diagnostics import CompileError, catalog


def invalid(where: str, message: str, help: str | None = None) -> CompileError:  # noqa: A002 - the diagnostic's own word
    """Return the error that the model breaks a rule of ONNX."""
    return CompileError(catalog.invalid_model(where, message, help))


def unsupported(where: str, message: str, help: str | None = None) -> CompileError:  # noqa: A002 - the diagnostic's own word
    """Return the error that the model is good ONNX, but holds what we cannot translate."""
    return CompileError(catalog.unsupported_operator(where, message, help))


def unsupported_type(
    where: str, found: str, expected: str = "a tensor of numbers or bools"
) -> CompileError:
    """Return the error that a value is no tensor, or has elements that we have no dtype for."""
    return CompileError(catalog.unsupported_type(where, found, expected))


def nondeterministic(where: str, message: str) -> CompileError:
    return CompileError(catalog.nondeterministic(where, message))


def external_data(where: str, message: str) -> CompileError:
    return CompileError(catalog.external_data(where, message))


def located(error: CompileError, where: str) -> CompileError:
    """Return ``error`` with the place put before each message."""
    placed = (replace(d, message=f"{where}: {d.message}") for d in error.diagnostics)
    return CompileError(*placed)
