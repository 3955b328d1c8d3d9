"""``hettest report``: read a JSON report, print it, write it in another form, compare it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hettest.cli.output import echo, echo_document
from hettest.errors import UsageError
from hettest.files.reading import decoded, read_text
from hettest.ledger import INCOMPLETE, undecided
from hettest.options import ENDINGS, require_ending
from hettest.outcome import Outcome
from hettest.report import FORMATS, ReportContent, json_report, text, write
from hettest.report.unfinished import warning

NAME = "report"
HELP = "Print a JSON report, or write it in another form. Exit code as that of the run."


def run(
    path: Annotated[Path, typer.Argument(metavar="REPORT.json", help="a report of a run")],
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", help=f"write it to this file: {', '.join(ENDINGS)}; repeatable"),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="print it in this form: json, xml, md, html")
    ] = None,
    against: Annotated[
        Path | None, typer.Option("--against", help="a former report: say what changed since")
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", help="write JUnit to this file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the report as JSON")] = False,
) -> None:
    wrong = warning(path)
    if wrong is not None:
        raise UsageError(wrong)
    content = read(path)
    former = None if against is None else read(against)
    for written in out or ():
        require_ending(written, f"--out={written}")
    for written in (*(out or ()), *([junit.with_suffix(".xml")] if junit else ())):
        write(written, content, former)
    _print(content, former, "json" if as_json else form)
    raise typer.Exit(exit_code(content))


def read(path: Path) -> ReportContent:
    """Return the run that the JSON report at ``path`` is about.

    Raises:
        UsageError: It is no such report; says where in it, what was found and what was expected.
    """
    return _parsed(path, read_text(path))


def parsed(path: Path, data: bytes) -> ReportContent:
    """Return the run that a JSON report is about, which stands at ``path``.

    Raises:
        UsageError: It is no such report; says where in it, what was found and what was expected.
    """
    return _parsed(path, decoded(data, path))


def _parsed(path: Path, text: str) -> ReportContent:
    try:
        return json_report.read(text)
    except ValueError as error:
        told = "hettest report reads JSON reports, as --report=NAME.json writes them"
        raise UsageError(f"{path}: {error}; {told}") from error


def exit_code(content: ReportContent) -> int:
    """Return what the run ended with: 1 failed, 6 something not run, else 0."""
    counts = content.counts
    failed = counts[Outcome.FAILED] or counts[Outcome.CRASHED] or content.problems or content.unmet
    if failed:
        return 1
    nothing = not content.records or undecided(content.records, content.devices)
    unproven = counts[Outcome.NOT_RUN] or nothing
    return INCOMPLETE if unproven else 0


def _print(content: ReportContent, former: ReportContent | None, form: str | None) -> None:
    if form is None:
        for line in text.lines(content, former):
            echo(line)
        return
    if f".{form}" not in FORMATS:
        known = ", ".join(ending.removeprefix(".") for ending in FORMATS)
        raise UsageError(f"--format={form}: expected one of {known}")
    echo_document(FORMATS[f".{form}"](content, former))
