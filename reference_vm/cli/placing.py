"""What the commands share that compile a program: which file, and where its values are to be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from reference_vm.passes.context import Policy

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
    str, typer.Option(metavar="ROLE=SIZE,…", help="what auto may use at once, as accel=64MiB")
]
COSTS: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="the cost model of auto, as JSON")
]
