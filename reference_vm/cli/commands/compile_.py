"""``reference-vm compile``: compile a program or an ONNX model and write it to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from reference_vm.cli import outputs
from reference_vm.cli.placing import (
    COSTS,
    DEFAULT,
    DEVICE_MAP,
    EXECUTOR,
    FILE,
    MEMORY,
    PLACE,
    POLICY,
    SPLIT,
    Choices,
)
from reference_vm.passes.context import Policy
from reference_vm.program.program import Program

NAME = "compile"
HELP = "compile a program or an ONNX model and write it to a file"


def run(
    file: FILE,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="where to write it")
    ],
    device_map: DEVICE_MAP = "",
    policy: POLICY = Policy.COPY,
    default: DEFAULT = None,
    place: PLACE = None,
    split: SPLIT = None,
    memory: MEMORY = "",
    costs: COSTS = None,
    executor: EXECUTOR = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Write the compiled program, and print what is in it.

    Raises:
        DiagnosticError: The program or an option is at fault, or the file cannot be written.
        typer.BadParameter: It would take the place of the program, or of another file.
    """
    outputs.check_program(output, "--output", file)
    choices = Choices(
        device_map, policy, default, tuple(place or ()), split, memory, costs, executor
    )
    program = choices.compiled(file)
    program.save(output)
    found = contents(program) | {"file": str(output), "bytes": output.stat().st_size}
    if as_json:
        print(json.dumps(found))
        return
    print(f"{output}: {found['bytes']} bytes")
    print(f"entries: {', '.join(found['entries'])}")
    print(f"devices: {', '.join(found['devices'])}")
    print(f"{found['instructions']} instructions, {found['kernels']} kernels")
    print(f"{found['constants']} constants")


def contents(program: Program) -> dict[str, Any]:
    """Return how much of what a program has."""
    executable = program.executable
    return {
        "entries": [f.name for f in executable.functions if f.entry],
        "devices": list(map(str, executable.devices)),
        **program.size(),
    }
