"""``reference-vm run``: run a program or a model once; print results, memory and what it moved."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.cli import arguments, outputs, programs, results
from reference_vm.cli.placing import (
    COSTS,
    DEFAULT,
    DEVICE_MAP,
    EXECUTOR,
    MEMORY,
    PLACE,
    POLICY,
    SPLIT,
    Choices,
)
from reference_vm.cli.unreadable import Unreadable
from reference_vm.passes.context import Policy
from reference_vm.runtime.peaks import peaks
from reference_vm.runtime.trace import Record
from reference_vm.session import Session

NAME = "run"
HELP = "run a program, an ONNX model, or what compile wrote"

LONG: Final = 20_000
"""Kernels of a run beyond which no records are made unless they are asked for."""


def run(
    file: Annotated[
        Path,
        typer.Argument(
            help="a .hir or .onnx file, one that compile wrote, or - for standard input"
        ),
    ],
    device_map: DEVICE_MAP = "",
    policy: POLICY = Policy.COPY,
    default: DEFAULT = None,
    place: PLACE = None,
    split: SPLIT = None,
    memory: MEMORY = "",
    costs: COSTS = None,
    executor: EXECUTOR = None,
    entry: Annotated[str, typer.Option(help="the function to run")] = "main",
    args: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="arguments by parameter as .npz, one .npy for each, or a folder of ONNX test data",
        ),
    ] = None,
    size: Annotated[
        list[str] | None, typer.Option(metavar="SYMBOL=N", help="of symbols, for arguments made up")
    ] = None,
    seed: Annotated[int, typer.Option(help="for arguments made up", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the results as .npz, or one as .npy")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="print every record")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Run an entry once; without ``--args`` on arguments that are made up.

    Raises:
        DiagnosticError: The program or an argument is at fault, or the run failed.
        typer.BadParameter: Results could not be written where they are to be.
    """
    choices = Choices(
        device_map, policy, default, tuple(place or ()), split, memory, costs, executor
    )
    session = Session(choices.loaded(file), memory=memory)
    code = session.entry(entry)
    if out is not None:
        outputs.check(out, "--out", [file, *(args or [])])
        results.check(out, code.result)
    made = session.run(entry, *_arguments(code, args or [], programs.sizes(size or []), seed))
    if out is not None:
        results.write(out, made)
    if as_json:
        print(_as_json(made, session, trace))
        return
    for line in results.shown(made) if out is None else ():
        print(line, flush=True)
    for line in _summary(session, trace):
        print(line)


def _arguments(
    code: FunctionCode, files: Sequence[Path], sizes: dict[str, int], seed: int
) -> list[Any]:
    programs.check_symbols(sizes, code.symbols)
    if not files:
        return arguments.made_up(code, sizes, seed)
    if sizes:
        raise typer.BadParameter("is for arguments that are made up", param_hint="--size")
    try:
        return arguments.read(files, code)
    except Unreadable as error:
        raise typer.BadParameter(str(error), param_hint="--args") from error


def _launches(session: Session) -> dict[str, int]:
    """Return how many kernels ran, by the devices on which any did."""
    counts = {name: device.ledger.launches for name, device in session.devices.items()}
    return {name: count for name, count in sorted(counts.items()) if count}


def _summary(session: Session, everything: bool) -> Iterator[str]:
    launches = _launches(session)
    yield from map(_line, session.trace if everything else ())
    for device, count in launches.items():
        yield f"kernels on {device}: {count}"
    if sum(launches.values()) > LONG and not everything:
        for device, memory in sorted(session.memory().items()):
            yield f"memory on {device}: {memory.peak} bytes at most"
        yield "transfers: not listed of so long a run; --trace lists every record"
        return
    for device, peak in sorted(peaks(session.trace).items()):
        yield f"memory on {device}: {peak.planned} bytes at most, {peak.bound} live at once"
    copies = [r for r in session.trace if r.kind == "copy"]
    yield f"transfers: {len(copies)}, {sum(r.bytes for r in copies)} bytes"
    if not everything:
        yield from map(_line, copies)


def _line(record: Record) -> str:
    text = f"  {record.index:5} {record.kind:8}{record.op:24} {record.device}"
    if record.cause is None:
        return f"{text} {' '.join(record.defines)}".rstrip()
    reader = f" for {record.cause.reader}" if record.cause.reader else ""
    moved = f"{record.cause.value or '?'}: {record.source} -> {record.target}"
    return f"  {record.index:5} copy    {moved}, {record.bytes} bytes ({record.cause.kind}{reader})"


def _as_json(made: Any, session: Session, everything: bool) -> str:
    memory = {device: {"peak": m.peak} for device, m in sorted(session.memory().items())}
    tree = {"results": results.as_json(made), "kernels": _launches(session), "memory": memory}
    if everything:
        tree["trace"] = [asdict(record) for record in session.trace]
    try:
        return json.dumps(tree)
    except RecursionError as error:
        message = "the results nest deeper than JSON can be written; leave it out"
        raise typer.BadParameter(message, param_hint="--json") from error
