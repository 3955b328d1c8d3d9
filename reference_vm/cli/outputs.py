"""Files that commands write: none takes the place of a program, or of what the command reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, Final

import typer

from reference_vm.cli.programs import SOURCES, is_saved
from reference_vm.program.replacing import replacing


def check(output: Path, option: str, inputs: Iterable[Path]) -> None:
    """Raise `typer.BadParameter` if writing ``output`` would lose what is no result of a command.

    That is one of the ``inputs``, a program, or what is no file, such as a device.
    """
    for file in inputs:
        if str(file) != "-" and _same(output, file):
            _refuse(output, option, "it is what this command reads; name another file")
    if output.suffix.lower() in SOURCES:
        found = f"{output.suffix} is how programs end"
        _refuse(output, option, f"{found}; name another file, as {output.stem}{_ENDING[option]}")
    if output.is_dir():
        _refuse(
            output,
            option,
            f"it is a folder; name a file in it, as {output / 'out'}{_ENDING[option]}",
        )
    if output.exists() and not output.is_file():
        _refuse(output, option, "it is no file, but a device or a pipe; name a file")


def check_program(output: Path, option: str, source: Path) -> None:
    """Raise `typer.BadParameter` as `check` does, and for any file that is no compiled program."""
    check(output, option, [source])
    if output.exists() and output.stat().st_size and not is_saved(output):
        found = "the file that is there is no compiled program, which alone is replaced"
        _refuse(output, option, f"{found}; name another file, or remove that one")


def write(output: Path, option: str, content: Callable[[BinaryIO], object]) -> None:
    """Have ``content`` write a file, which takes the place of ``output`` when all is written.

    Raises:
        typer.BadParameter: It cannot be written.
    """
    try:
        with replacing(output) as file:
            content(file)
    except OSError as error:
        _refuse(output, option, error.strerror or str(error), error)


def _same(left: Path, right: Path) -> bool:
    try:
        return left.samefile(right)
    except OSError:
        return False


def _refuse(output: Path, option: str, reason: str, cause: Exception | None = None) -> None:
    raise typer.BadParameter(f"{output}: {reason}", param_hint=option) from cause


_ENDING: Final = {"--output": ".rvm", "--out": ".npz", "--dot": ".dot", "--svg": ".svg"}

__all__ = ["check", "check_program", "write"]
