"""Programs from files, and sizes of their symbols from options."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import typer

from reference_vm.bytecode.symbols import symbols_in
from reference_vm.exchange import from_onnx
from reference_vm.ir.nodes import Module
from reference_vm.ir.rewrite import bound
from reference_vm.ir.verify import remarks
from reference_vm.program.members import MANIFEST
from reference_vm.text import parse


def read(file: Path) -> Module:
    """Return the program in a ``.hir`` or ``.onnx`` file; ``-`` is the standard input.

    What is odd about it is printed as warnings.

    Raises:
        CompileError: The text or the model is at fault.
        typer.BadParameter: The file cannot be read, or is a program that was compiled already.
    """
    if is_saved(file):
        found = f"{file} is compiled already, expected a program as text or an ONNX model"
        how = f"run it: reference-vm run {file}; or look at it: reference-vm disassemble {file}"
        raise typer.BadParameter(f"{found}; {how}", param_hint="FILE")
    try:
        if file.suffix == ".onnx":
            return from_onnx(file)
        text = sys.stdin.read() if str(file) == "-" else _text(file)
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="FILE") from error
    except UnicodeDecodeError as error:
        expected = "a program as text, or a model whose name ends in .onnx"
        message = f"{file}: byte {error.start} is not UTF-8 text, expected {expected}"
        raise typer.BadParameter(message, param_hint="FILE") from error
    module = parse(text, str(file))
    for remark in remarks(module):
        print(remark.text("warning"), file=sys.stderr)
    return module


def _text(file: Path) -> str:
    """Return the text of a file; of a device such as ``/dev/zero``, which never ends, none."""
    data = bytearray()
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            data += block
            if len(data) > _MOST:
                message = f"{file}: found more than {_MOST} bytes, expected a program as text"
                raise typer.BadParameter(message, param_hint="FILE")
    return data.decode("utf-8")


def is_saved(file: Path) -> bool:
    """Whether a file is a program that was compiled and saved, by its first bytes."""
    try:
        if str(file) == "-" or not file.is_file():
            return False
        with file.open("rb") as opened:
            head = opened.read(_NAME + len(MANIFEST))
    except OSError:
        return False
    return head.startswith(_ARCHIVE) and head[_NAME:] == MANIFEST.encode()


def sizes(written: list[str]) -> dict[str, int]:
    """Return what ``n=8`` says, for each symbol.

    Raises:
        typer.BadParameter: One has another form, or a symbol is given two sizes.
    """
    found: dict[str, int] = {}
    for part in written:
        matched = _SIZE.fullmatch(part)
        if matched is None:
            raise typer.BadParameter(f"found {part!r}, expected n=8", param_hint="--size")
        symbol = matched["symbol"]
        if symbol in found:
            raise typer.BadParameter(f"{symbol} is given two sizes", param_hint="--size")
        found[symbol] = int(matched["number"])
    return found


def check_symbols(sizes: Mapping[str, int], known: Iterable[str]) -> None:
    """Raise `typer.BadParameter` for a size of what is no symbol of the program."""
    symbols = list(dict.fromkeys(known))
    for symbol in sizes:
        if symbol not in symbols:
            listed = ", ".join(symbols) or "none"
            message = f"{symbol} is no symbol of the program, which has {listed}"
            raise typer.BadParameter(message, param_hint="--size")


def symbols_of(module: Module) -> Iterator[str]:
    """Yield the symbols in the types of a program, those of each function in turn."""
    for function in module.functions:
        for var in (*function.params, *bound(function.body)):
            yield from symbols_in(var.type)


_SIZE: Final = re.compile(r"\s*(?P<symbol>[A-Za-z_][\w.]*)\s*=\s*(?P<number>[0-9]{1,18})\s*")

SOURCES: Final = (".hir", ".onnx")
"""How the names of programs end that are not compiled yet."""

_MOST: Final = 512 * 1024 * 1024
"""Bytes of a program as text."""

_BLOCK: Final = 1 << 20
_ARCHIVE: Final = b"PK\3\4"
"""How an archive begins."""

_NAME: Final = 30
"""Where in an archive the name of the first member is."""

__all__ = ["SOURCES", "is_saved", "check_symbols", "read", "sizes", "symbols_of"]
