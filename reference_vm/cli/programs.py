"""Programs from files, and sizes of their symbols from options."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from reference_vm.exchange import from_onnx
from reference_vm.ir.nodes import Module
from reference_vm.text import parse


def read(file: Path) -> Module:
    """Return the program in a ``.hir`` or ``.onnx`` file; ``-`` is the standard input.

    Raises:
        CompileError: The text or the model is at fault.
        typer.BadParameter: The file cannot be read.
    """
    try:
        if file.suffix == ".onnx":
            return from_onnx(file)
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(str(error), param_hint="FILE") from error
    return parse(text, str(file))


def sizes(written: list[str]) -> dict[str, int]:
    """Return what ``n=8`` says, for each symbol."""
    found = {}
    for part in written:
        symbol, _, number = part.partition("=")
        if not number.isdigit():
            raise typer.BadParameter(f"found {part!r}, expected n=8", param_hint="--size")
        found[symbol.strip()] = int(number)
    return found


__all__ = ["read", "sizes"]
