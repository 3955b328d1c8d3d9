"""``reference-vm opt``: what passes make of a program."""

from __future__ import annotations

from typing import Annotated

import typer

from reference_vm import text
from reference_vm.cli import programs
from reference_vm.cli.placing import FILE
from reference_vm.compiler import check_roles
from reference_vm.diagnostics import CompileError
from reference_vm.ir.verify import verify
from reference_vm.options import context
from reference_vm.passes import pipeline, pipeline_text
from reference_vm.passes.catalog import PASSES, default_pipeline
from reference_vm.passes.context import Pass, Policy
from reference_vm.types import DeviceMap

NAME = "opt"
HELP = "print what passes make of a program"


def run(
    file: FILE,
    pipeline_: Annotated[
        str | None,
        typer.Option("--pipeline", metavar="PASSES", help="as in infer-types,fold-constants"),
    ] = None,
    device_map: Annotated[
        str, typer.Option(metavar="ROLE=DEVICE,…", help="which device each role is")
    ] = "",
    policy: Annotated[Policy, typer.Option(help="for values wanted on two devices")] = Policy.COPY,
    default: Annotated[
        str | None, typer.Option(metavar="ROLE", help="for what nothing places")
    ] = None,
    check: Annotated[bool, typer.Option(help="hold each pass to its contract")] = False,
    short: Annotated[bool, typer.Option(help="leave out the types of bindings")] = False,
) -> None:
    """Print the module after the passes; without ``--pipeline``, after those of the compiler.

    Raises:
        DiagnosticError: The program is at fault.
    """
    ctx = context(_device_map(device_map), policy, default, "", None, None, None)
    passes = default_pipeline() if pipeline_ is None else _passes(pipeline_)
    module = programs.read(file)
    verify(module)
    if pipeline_ is None:  # others may have passes that add roles
        check_roles(module, ctx)
    after = pipeline.run(module, passes, ctx, check=check)
    print(text.print_module(after, short=short), end="")


def _device_map(written: str) -> DeviceMap:
    try:
        return DeviceMap.parse(written)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--device-map") from error


def _passes(written: str) -> tuple[Pass, ...]:
    try:
        return pipeline_text.parse(written, PASSES)
    except CompileError as error:
        raise typer.BadParameter(f"\n{error}", param_hint="--pipeline") from error
