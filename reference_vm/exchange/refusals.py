"""Errors of the importer, with the place in words: an ONNX model has no text to point at."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reference_vm.diagnostics import CompileError, catalog

_SHOWN: Final = 2
"""Parts of a place that are shown at either end: a node in a body in a body and so on."""


def invalid(where: str, message: str, help: str | None = None) -> CompileError:  # noqa: A002 - the diagnostic's own word
    """Return the error that the model breaks a rule of ONNX."""
    return CompileError(catalog.invalid_model(_short(where), message, help))


def unsupported(where: str, message: str, help: str | None = None) -> CompileError:  # noqa: A002 - the diagnostic's own word
    """Return the error that the model is good ONNX, but holds what we cannot translate."""
    return CompileError(catalog.unsupported_operator(_short(where), message, help))


def unsupported_type(
    where: str, found: str, expected: str = "a tensor of numbers or bools"
) -> CompileError:
    """Return the error that a value is no tensor, or has elements that we have no dtype for."""
    return CompileError(catalog.unsupported_type(_short(where), found, expected))


def nondeterministic(where: str, message: str) -> CompileError:
    return CompileError(catalog.nondeterministic(_short(where), message))


def external_data(where: str, message: str) -> CompileError:
    return CompileError(catalog.external_data(_short(where), message))


def _short(where: str) -> str:
    """Return a place with what lies between its outermost and innermost parts left out."""
    parts = where.split(", ")
    if len(parts) <= 2 * _SHOWN:
        return where
    left_out = len(parts) - 2 * _SHOWN
    return ", ".join((*parts[:_SHOWN], f"({left_out} more)", *parts[-_SHOWN:]))


def located(error: CompileError, where: str) -> CompileError:
    """Return ``error`` with the place put before each message."""
    placed = (replace(d, message=f"{_short(where)}: {d.message}") for d in error.diagnostics)
    return CompileError(*placed)
