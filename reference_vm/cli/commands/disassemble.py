"""``reference-vm disassemble``: the bytecode of a saved program, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from reference_vm.bytecode import disassembler
from reference_vm.program.loading import read
from reference_vm.program.program import Program
from reference_vm.program.saving import code_of
from reference_vm.types import TensorType

NAME = "disassemble"
HELP = "print the bytecode of a saved program"


def run(
    file: Annotated[Path, typer.Argument(help="a file that compile wrote")],
    as_json: Annotated[
        bool, typer.Option("--json", help="print the bytecode and its tables as one JSON object")
    ] = False,
) -> None:
    """Print the tables and the instructions. The program's devices need not be here.

    Raises:
        DiagnosticError: The file is no such program, or is damaged.
        typer.BadParameter: There is no such file.
    """
    if not file.is_file():
        reason = "is a folder" if file.is_dir() else "there is no such file"
        raise typer.BadParameter(f"{file}: {reason}", param_hint="FILE")
    program = read(file)
    if as_json:
        print(json.dumps(code_of(program)))
        return
    for line in _tables(program):
        print(line)
    print(disassembler.disassemble(program.executable), end="")


def _tables(program: Program) -> Iterator[str]:
    """Yield what the indices in instructions stand for, a line each."""
    executable = program.executable
    for device in executable.devices:
        roles = " ".join(f"@{r}" for r, d in program.device_map.items() if d == device)
        yield f"device {device} {roles}".rstrip()
    for index, kernel in enumerate(executable.kernels):
        yield f"kernel {index} {kernel.name} for {kernel.kind}"
    for index, slot in enumerate(executable.constants):
        name = f" {slot.value}" if slot.value else ""
        type_ = TensorType(slot.dtype, slot.shape)
        yield f"constant {index}{name}: {type_} on {executable.devices[slot.device]}"
    if not program.proven:
        yield "only a run can tell whether this program is sound: it is interpreted"
