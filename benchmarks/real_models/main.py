"""The main job: real models split over two devices and judged, then the corpus.

    python -m benchmarks.real_models.main              # what `make run` does
    python -m benchmarks.real_models.main minilm       # only models whose name contains the word

Prints a table of the models and writes reports under ``build/``. The exit code is 1 if a model or a
conformance item of the reference fails; what onnxruntime fails is printed and does not count. With
no model to be had, the corpus is run all the same, and what was not run is said.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.real_models.examine import Finding, examine
from benchmarks.real_models.expected import expectations
from benchmarks.real_models.lock import ModelFile, models
from hettest.devicemap import parse_devices
from hettest.errors import UsageError
from hettest.options import HetOptions
from hettest.outcome import Outcome
from hettest.report import ReportContent, text, write
from hettest.session import KitSession
from reference_vm.targets.numba.target import NUMBA

BUILD: Final = Path("build")

VERDICTS: Final = ("passed", "failed", "unsupported", "not run")

WIDTH: Final = 190
"""Columns of the table where there is no terminal to ask."""


def main(words: Sequence[str] = ()) -> int:
    """Run the models whose name contains one of ``words``, or all; then the corpus.

    Returns:
        The exit code.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    started = time.perf_counter()
    findings = _models(console, words)
    console.print(_table(findings))
    failed = [f for f in findings if f.verdict == "failed"]
    for finding in findings:
        if finding.verdict != "passed":
            console.print(f"{finding.model}: {finding.verdict}: {finding.reason}", markup=False)
    console.print(_summary(findings))
    codes: list[int] = []
    corpus = None
    if not words:
        rows = [asdict(finding) for finding in findings]
        code, corpus = _corpus(console, "reference_vm", "cpu,sim", "conformance", rows)
        codes.append(code)
        _corpus(console, "onnxruntime", "cpu", "conformance-onnxruntime", ())
    console.print(f"took {time.perf_counter() - started:.0f} s")
    ok = not failed and not any(codes)
    console.print(_last(findings, corpus, ok=ok), markup=False, highlight=False, soft_wrap=True)
    return 0 if ok else 1


def _models(console: Console, words: Sequence[str]) -> list[Finding]:
    _, recorded = expectations()
    every = models()
    chosen = [m for m in every if _is_chosen(m, words)]
    for model in every:
        if not words and model.extra:
            console.print(f"left out: {model.id}: {model.extra}", markup=False)
    found = []
    with _progress(console) as progress:
        task = progress.add_task("models", total=len(chosen))
        for model in chosen:

            def step(what: str, name: str = model.id) -> None:
                progress.update(task, description=f"{name}: {what}")

            found.append(examine(model, every, recorded.get(model.id, ()), step))
            progress.advance(task)
            if not console.is_terminal:
                last = found[-1]
                console.print(f"{last.model}: {last.verdict}", markup=False)
    return found


def _is_chosen(model: ModelFile, words: Sequence[str]) -> bool:
    if not words:
        return not model.extra
    return any(word.lower() in model.id.lower() for word in words)


@contextmanager
def _progress(console: Console) -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        yield progress


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(title="Real models, CPU-only and split over cpu:0 and sim:0")
    table.add_column("model", no_wrap=True)
    table.add_column("devices")
    for name in ("nodes", "kernels", "copies", "moved", "local", "ratio", "anchor"):
        table.add_column(name, justify="right")
    table.add_column("bound")
    for name in ("vs ort", "CPU ms", "split ms"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for f in findings:
        if not f.devices:
            table.add_row(f.model, *[""] * 11, f.verdict)
            continue
        table.add_row(
            f.model,
            "+".join(device.partition(":")[0] for device in f.devices),
            *(str(n) for n in (f.nodes, f.kernels, f.copies)),
            _bytes(f.moved_bytes),
            *(_part(part) for part in (f.local, f.ratio, f.anchor)),
            f.bound,
            _part(f.onnxruntime, ".0e"),
            _part(f.cpu_ms),
            _part(f.split_ms),
            f.verdict,
        )
    return table


def _part(value: float | None, form: str = ".2f") -> str:
    return "" if value is None else format(value, form)


def _bytes(count: int) -> str:
    return f"{count} B" if count < 10_000 else f"{count / 1000:.0f} kB"


def _summary(findings: Sequence[Finding]) -> str:
    counts = {v: sum(f.verdict == v for f in findings) for v in VERDICTS}
    listed = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    compiled = NUMBA.statistics.compiled
    return f"models: {len(findings)}: {listed}; kernels compiled: {compiled}"


def _last(findings: Sequence[Finding], corpus: ReportContent | None, *, ok: bool) -> str:
    """Return the line that says what this project's own runs came to."""
    passed = sum(finding.verdict == "passed" for finding in findings)
    parts = [f"{passed} of {len(findings)} real models passed"]
    if corpus is not None:
        items = corpus.counts[Outcome.PASSED]
        parts.append(f"{items} of {len(corpus.records)} items of the corpus passed")
    return f"{'OK' if ok else 'FAILED'}: of reference_vm {', '.join(parts)}"


def _corpus(
    console: Console, backend: str, devices: str, name: str, rows: Sequence[dict[str, object]]
) -> tuple[int, ReportContent]:
    """Run the corpus on one backend, write its reports, and return its exit code and content."""
    BUILD.mkdir(exist_ok=True)
    reports = tuple(BUILD / f"{name}{suffix}" for suffix in (".json", ".xml"))
    options = HetOptions(parse_devices(devices), None, backend, "incomplete", None, reports, False)
    session = KitSession(options)
    selection = session.corpus
    session.offer(selection, whole=True)
    with _progress(console) as progress:
        for item in progress.track(selection.items, description=f"corpus on {backend}"):
            session.ledger.add(session.run(item))
    session.close()
    session.release()
    content = _with_models(session.content(), rows)
    for path in reports:
        write(path, content)
    for line in text.lines(content):
        console.print(line, markup=False, highlight=False)
    for record in content.records:
        if record.outcome is Outcome.FAILED and backend == "reference_vm":
            console.print(record.text or record.reason, markup=False, highlight=False)
    return session.exit_code(), content


def _with_models(content: ReportContent, rows: Sequence[dict[str, object]]) -> ReportContent:
    return replace(content, models=rows)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UsageError as error:
        sys.exit(f"{error}")
