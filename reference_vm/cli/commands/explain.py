"""``reference-vm explain``: where each value of a program lives and why, and what is copied."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from reference_vm import compiler
from reference_vm.cli import programs
from reference_vm.cli.explanation.as_json import as_json
from reference_vm.cli.explanation.dot import dot
from reference_vm.cli.explanation.svg import svg
from reference_vm.cli.explanation.table import text
from reference_vm.passes.context import Policy

NAME = "explain"
HELP = "say where everything is, by which rule, and what forces each copy"


def run(
    file: Annotated[Path, typer.Argument(help="a .hir or .onnx file, or - for standard input")],
    device_map: Annotated[
        str, typer.Option(metavar="ROLE=DEVICE,…", help="which device each role is")
    ] = "",
    policy: Annotated[Policy, typer.Option(help="for values wanted on two devices")] = Policy.COPY,
    default: Annotated[
        str | None, typer.Option(metavar="ROLE", help="for what nothing places")
    ] = None,
    place: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN=ROLE", help="requests by name; auto places the rest by cost"),
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="RULE", help="halves, alternate or random:SEED")
    ] = None,
    memory: Annotated[
        str, typer.Option(metavar="ROLE=SIZE,…", help="what auto may use at once, as accel=64MiB")
    ] = "",
    costs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the cost model of auto, as JSON")
    ] = None,
    size: Annotated[
        list[str] | None, typer.Option(metavar="SYMBOL=N", help="for the bytes of symbolic shapes")
    ] = None,
    to_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    to_dot: Annotated[
        Path | None, typer.Option("--dot", metavar="FILE", help="write the graph for Graphviz")
    ] = None,
    to_svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="write the graph as a picture")
    ] = None,
) -> None:
    """Print the tables, or JSON, unless only a graph is asked for.

    Raises:
        DiagnosticError: The program is at fault.
    """
    module, nominal = programs.read(file), programs.sizes(size or [])
    programs.check_symbols(nominal, programs.symbols_of(module))
    plan = compiler.explain(
        module,
        device_map,
        policy=policy,
        default=default,
        place=place or (),
        split=split,
        memory=memory,
        costs=costs,
        nominal=nominal,
    )
    for path, drawn in ((to_dot, dot), (to_svg, svg)):
        if path is not None:
            _write(path, drawn(plan))
    if to_json:
        print(json.dumps(as_json(plan)))
    elif to_dot is None and to_svg is None:
        print(text(plan, max(_NARROWEST, Console().width)), end="")


_NARROWEST = 100


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(str(error), param_hint=str(path)) from error
