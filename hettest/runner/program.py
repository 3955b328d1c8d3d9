"""The same program in every form that a backend may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from hettest.backend.protocol import Inexpressible
from hettest.language import DiagnosticError, Module, parse, print_module, to_json, to_onnx


def _to_onnx(module: Module, entry: str | None) -> bytes:
    try:
        return to_onnx(module, entry)
    except DiagnosticError as error:
        raise Inexpressible(error.diagnostics[0].message) from error


@final
@dataclass(frozen=True)
class TextProgram:
    """A program that is given as text; its lines are those of the text."""

    id: str
    text: str

    @cached_property
    def module(self) -> Module:
        """The parsed program.

        Raises:
            DiagnosticError: The text is malformed.
        """
        return parse(self.text, self.id)

    @cached_property
    def _models(self) -> dict[str | None, bytes]:
        return {}

    def json(self) -> dict[str, Any]:
        """Return the program as a tree of plain data, made anew.

        Raises:
            DiagnosticError: The text is malformed.
        """
        return to_json(self.module)

    def onnx(self, entry: str | None = None) -> bytes:
        """Return one function as a serialized ONNX model, written once.

        Raises:
            Inexpressible: ONNX has no way to say it.
        """
        if entry not in self._models:
            self._models[entry] = _to_onnx(self.module, entry)
        return self._models[entry]


@final
@dataclass(frozen=True)
class ModuleProgram:
    """A program that is given as a module, such as an imported model."""

    id: str
    module: Module
    model: bytes | None = None
    """The ONNX model that it was imported from, if any."""

    @cached_property
    def text(self) -> str:
        return print_module(self.module)

    def json(self) -> dict[str, Any]:
        """Return the program as a tree of plain data, made anew."""
        return to_json(self.module)

    def onnx(self, entry: str | None = None) -> bytes:
        """Return the model that the program came from, or one function as a model.

        Raises:
            Inexpressible: ONNX has no way to say it.
        """
        return self.model if self.model is not None else _to_onnx(self.module, entry)
