"""``hettest conformance verify``: is a report whole, true to its items, and does it reproduce?"""

from __future__ import annotations

import datetime
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hettest.cli.commands.conformance_run import options, percent
from hettest.cli.output import echo, echo_json
from hettest.cli.progress import with_progress
from hettest.conformance import bundle, manifest, rerunning, running
from hettest.conformance.verifying import Trust, Verdict, ran, verify
from hettest.errors import UsageError
from hettest.files import write_bytes
from hettest.report import ReportContent
from hettest.report.counting import counted
from hettest.report.summary import levels

NAME = "verify"
HELP = (
    "Check a conformance report: its digests, sums, waivers, signature, and that its level follows "
    "from its items. Exit code: 0 it holds, 1 it does not, 2 usage."
)


def run(
    path: Annotated[Path, typer.Argument(metavar="REPORT", help="a folder, or a packed report")],
    digest: Annotated[
        str | None, typer.Option("--digest", help="what was printed when it was packed")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="a public ssh key, or allowed signers")
    ] = None,
    rerun: Annotated[
        str | None,
        typer.Option("--rerun", metavar="PERCENT", help="run that part of the items again"),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="chooses what to run again")] = None,
    backend: Annotated[
        str | None, typer.Option("--backend", help="run it again on this [default: the report's]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print what was found as JSON")] = False,
) -> None:
    part = None if rerun is None else percent(rerun, "--rerun")
    files = bundle.read(path)
    verdict = verify(files, Trust(key=key, digest=digest, today=datetime.date.today()))
    if part is not None and verdict.content is not None:
        _rerun(verdict, verdict.content, files, part, seed, backend)
    if as_json:
        found = {"digest": verdict.digest, "problems": verdict.problems, "notes": verdict.notes}
        echo_json(found)
    else:
        asked = (("signature", "--key", key), ("digest", "--digest", digest))
        unchecked = [f"{what} (no {option})" for what, option, given in asked if given is None]
        if part is None:
            unchecked.append("items run again (no --rerun)")
        _print(path, verdict, unchecked)
    raise typer.Exit(1 if verdict.problems else 0)


def _rerun(
    verdict: Verdict,
    content: ReportContent,
    files: dict[str, bytes],
    part: float,
    seed: int | None,
    backend: str | None,
) -> None:
    """Add to ``verdict`` what does not end again as the report says."""
    seed = secrets.randbelow(2**31) if seed is None else seed
    records = rerunning.sample([r for r in content.records if ran(r)], part, seed)
    if not records:
        verdict.problems.append("no item of the report was run, so that none can be run again")
        return
    with tempfile.TemporaryDirectory() as folder:
        waivers = Path(folder) / manifest.WAIVERS
        write_bytes(waivers, files.get(manifest.WAIVERS, b"format = 1\n"))
        tested = backend or content.backend
        asked = options(tuple(content.devices), tested, waivers, content.seed or 0)
        found = list(running.rerun(content, asked, records, with_progress))
    verdict.problems += map(str, found)
    verdict.notes.append(f"ran {counted(len(records), 'item')} again ({part:g}%, seed {seed})")


def _print(path: Path, verdict: Verdict, unchecked: Sequence[str]) -> None:
    """Print what was found, and of a report that holds what it was not asked to show."""
    for note in verdict.notes:
        echo(note)
    if verdict.content is not None and not verdict.problems:
        for line in levels(verdict.content):
            echo(line)
    for problem in verdict.problems:
        echo(f"{path}: {problem}")
    echo(f"digest: {verdict.digest or 'none'}")
    if verdict.problems:
        echo(f"not verified: {counted(len(verdict.problems), 'problem')}")
        return
    echo("; not checked: ".join(filter(None, ("verified", ", ".join(unchecked)))))


def files_of(path: Path) -> dict[str, bytes]:
    """Return the files of a report that holds together, for other commands.

    Raises:
        UsageError: It does not.
    """
    files = bundle.read(path)
    data = files.get(manifest.NAME)
    if data is None:
        raise UsageError(f"{path}: holds no {manifest.NAME}, expected a conformance report")
    try:
        wrong = next(manifest.mismatches(manifest.read(data), files), None)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    if wrong is not None:
        raise UsageError(f"{path}: {wrong}")
    return files
