"""``hettest bench gate``: do the benchmarks of this checkout pass, beside a baseline?"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from hettest.bench import storage
from hettest.bench.change import FEWEST_TURNS
from hettest.bench.gate import limits_file
from hettest.bench.gate.baselines import OtherCheckout, StoredBaseline
from hettest.bench.gate.deciding import FAILED, INCOMPLETE, Decision, Measure, Standing, decide
from hettest.bench.gate.limits import SLOWER, Limits
from hettest.bench.gate.measuring import Bench, Checkout, Unmeasured
from hettest.bench.needs import require
from hettest.bench.stored import read
from hettest.cli import bench_tables
from hettest.cli.commands.bench_compare import ACROSS, MAY_BE_MISSING, STORAGE
from hettest.cli.output import echo, echo_json
from hettest.errors import UsageError
from hettest.report.counting import counted

NAME = "gate"
HELP = (
    "Run benchmarks beside a baseline, and measure again before failing. Arguments of pytest go "
    "after --. Exit code: 0, 1 if one is slower or a test failed, 2 usage, 6 if not all was "
    "compared."
)
COMMAND = f"{shlex.quote(sys.executable)} -m pytest"


def run(
    args: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGS]...", help="arguments of pytest")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="a stored run: a file, folder, or number")
    ] = None,
    checkout: Annotated[
        Path | None,
        typer.Option("--checkout", help="a second checkout, whose benchmarks are run in turn"),
    ] = None,
    limits: Annotated[
        Path | None, typer.Option("--limits", help="a file of limits, case by case")
    ] = None,
    slower: Annotated[
        float, typer.Option("--slower", help="how many times longer a benchmark may take")
    ] = SLOWER,
    confirm: Annotated[
        int, typer.Option("--confirm", min=0, help="how often what is slower is measured again")
    ] = 2,
    turns: Annotated[
        int,
        typer.Option("--turns", min=FEWEST_TURNS, help="with --checkout: runs of each"),
    ] = 5,
    command: Annotated[
        str, typer.Option("--command", help="runs pytest", show_default="python -m pytest")
    ] = COMMAND,
    checkout_command: Annotated[
        str | None,
        typer.Option("--checkout-command", help="runs pytest in the second checkout, if otherwise"),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1.0, help="seconds that one run may take")
    ] = 3600.0,
    may_be_missing: MAY_BE_MISSING = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="exit with 6 if any benchmark is undecided")
    ] = False,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FOLDER", help="keep what each run wrote")
    ] = None,
    folder: STORAGE = storage.FOLDER,
    across_machines: ACROSS = False,
    as_json: Annotated[bool, typer.Option("--json", help="print as JSON")] = False,
) -> None:
    require("hettest bench gate", "scipy")
    if (against is None) is (checkout is None):
        raise UsageError("hettest bench gate: give either --against=RUN or --checkout=FOLDER")
    if not 1 < slower < float("inf"):
        raise UsageError(f"--slower={slower:g}: expected a number above 1, such as 1.10")
    held = Limits((), slower) if limits is None else limits_file.load(limits, slower)
    own = Checkout("this checkout", Path.cwd(), _words(command), tuple(args or ()), timeout)
    with _folder(keep) as kept:
        bench = Bench(kept)
        measure: Measure
        if against is not None:
            then = read(storage.find(against, folder))
            measure = StoredBaseline(then, own, bench, held, across_machines, _say)
        else:
            assert checkout is not None
            base = Checkout(
                name="the other checkout",
                path=checkout.absolute(),
                command=_words(checkout_command or command),
                args=own.args,
                seconds=timeout,
                is_judged=False,
            )
            measure = OtherCheckout(base, own, bench, held, turns, _say)
        try:
            found = decide(
                measure,
                held,
                confirm=confirm,
                may_be_missing=may_be_missing or (),
                strict=strict,
            )
        except Unmeasured as error:
            _refuse(error, as_json)
    if as_json:
        echo_json(bench_tables.decision_json(found))
    else:
        _print(found)
    raise typer.Exit(found.exit_code)


def _words(command: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"--command={command}: {error}") from error
    if not words:
        raise UsageError("--command: is empty, expected what runs pytest")
    return words


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with TemporaryDirectory(prefix="hettest-gate-") as name:
            yield Path(name)
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UsageError(f"--keep={keep}: exists, expected a folder that is empty or not there")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep.absolute()


def _say(text: str) -> None:
    echo(text, err=True)


def _refuse(error: Unmeasured, as_json: bool) -> None:
    """End with the code of a run that says nothing, or whose tests failed.

    Raises:
        Exit: Always.
    """
    code = FAILED if error.failed else INCOMPLETE
    if as_json:
        echo_json({"benchmarks": [], "incomplete": [str(error)], "exit_code": code}, indent=None)
    else:
        echo(f"hettest: {error}", err=True)
        echo("gate: failed" if error.failed else "gate: incomplete")
    raise typer.Exit(code) from error


def _print(found: Decision) -> None:
    if found.findings:
        bench_tables.show(bench_tables.decided(found))
    for name in found.new:
        echo(f"new: {name}")
    counts = ", ".join(f"{len(found.of(s))} {s}" for s in Standing if found.of(s))
    echo(f"{counted(len(found.findings), 'benchmark')}: {counts or 'none'}")
    for reason in found.incomplete:
        echo(f"incomplete: {reason}")
    word = {0: "passed", FAILED: "failed", INCOMPLETE: "incomplete"}[found.exit_code]
    echo(f"gate: {word}")
