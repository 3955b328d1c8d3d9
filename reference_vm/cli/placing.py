"""What the commands share that compile a program: which file, and where its values are to be."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, TypeAlias, final

import typer

from reference_vm import compiler
from reference_vm.cli import programs
from reference_vm.passes.context import Policy
from reference_vm.program.loading import load
from reference_vm.program.program import Program

EXECUTOR: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TARGET", help="who makes the kernels")
]
FILE: TypeAlias = Annotated[
    Path, typer.Argument(help="a .hir or .onnx file, or - for standard input")
]
DEVICE_MAP: TypeAlias = Annotated[
    str, typer.Option(metavar="ROLE=DEVICE,…", help="which device each role is")
]
POLICY: TypeAlias = Annotated[Policy, typer.Option(help="for values wanted on two devices")]
DEFAULT: TypeAlias = Annotated[
    str | None, typer.Option(metavar="ROLE", help="for what nothing places")
]
PLACE: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN=ROLE", help="requests by name; auto places the rest by cost"),
]
SPLIT: TypeAlias = Annotated[
    str | None, typer.Option(metavar="RULE", help="halves, alternate or random:SEED")
]
MEMORY: TypeAlias = Annotated[
    str, typer.Option(metavar="ROLE=SIZE,…", help="what may be in use at once, as accel=64MiB")
]
COSTS: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="the cost model of auto, as JSON")
]


@final
@dataclass(frozen=True)
class Choices:
    """What options say of a compilation."""

    device_map: str = ""
    policy: Policy = Policy.COPY
    default: str | None = None
    place: tuple[str, ...] = ()
    split: str | None = None
    memory: str = ""
    costs: Path | None = None
    executor: str | None = None

    def compiled(self, file: Path) -> Program:
        """Return the program of a ``.hir`` or ``.onnx`` file, or of the standard input, compiled.

        Raises:
            CompileError: The program or an option is at fault.
            typer.BadParameter: The file cannot be read.
        """
        return compiler.compile(
            programs.read(file),
            self.device_map,
            policy=self.policy,
            default=self.default,
            place=self.place,
            split=self.split,
            memory=self.memory,
            costs=self.costs,
            executor=self.executor,
            weights=None if str(file) == "-" else file.parent,
        )

    def loaded(self, file: Path) -> Program:
        """Return the program in a file that ``compile`` wrote, or what `compiled` does.

        Raises:
            CompileError: The program or an option is at fault, or a device is missing.
            typer.BadParameter: The file cannot be read, or a choice comes too late.
        """
        if not programs.is_saved(file):
            return self.compiled(file)
        for field in fields(self):
            if field.name == "memory":  # a run keeps to it, whenever it was compiled
                continue
            if getattr(self, field.name) != field.default:
                option = f"--{field.name.replace('_', '-')}"
                decided = f"{file} is compiled already, which decided this; leave {option} out"
                message = f"{decided}, or compile the source anew with it: reference-vm compile"
                raise typer.BadParameter(message, param_hint=option)
        return load(file)
