"""``reference-vm explain``: where each value of a program lives and why, and what is copied."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console

from reference_vm import compiler
from reference_vm.cli import outputs, programs
from reference_vm.cli.explanation.as_json import as_json
from reference_vm.cli.explanation.dot import dot
from reference_vm.cli.explanation.svg import svg
from reference_vm.cli.explanation.table import text
from reference_vm.cli.placing import COSTS, DEFAULT, DEVICE_MAP, FILE, MEMORY, PLACE, POLICY, SPLIT
from reference_vm.passes.context import Policy

NAME = "explain"
HELP = "say where everything is, by which rule, and what forces each copy"


def run(
    file: FILE,
    device_map: DEVICE_MAP = "",
    policy: POLICY = Policy.COPY,
    default: DEFAULT = None,
    place: PLACE = None,
    split: SPLIT = None,
    memory: MEMORY = "",
    costs: COSTS = None,
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
    graphs = (("--dot", to_dot, dot), ("--svg", to_svg, svg))
    for option, path, _ in graphs:
        if path is not None:
            outputs.check(path, option, [file])
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
    for option, path, drawn in graphs:
        if path is not None:
            outputs.write(path, option, partial(_write, drawn(plan)))
    if to_json:
        print(json.dumps(as_json(plan)))
    elif to_dot is None and to_svg is None:
        print(text(plan, max(_NARROWEST, Console().width)), end="")


_NARROWEST = 100


def _write(text: str, file: BinaryIO) -> None:
    file.write(text.encode())
