"""The pages: an index with the table of all engines, and one page for each engine."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Final

from benchmarks.conformance_table.findings import (
    COMMAND,
    FAULTS,
    Finding,
    idle,
    unexplained,
)
from benchmarks.conformance_table.runs import EngineRun
from hettest.outcome import Outcome, Record

INSTALL: Final = "pip install 'hettest[backends,jax,torch,tvm]'"

_PLACED: Final = ("placement/", "planning/", "bugs/", "runs/")
"""The areas that the table of all engines shows case by case."""

_SHOWN: Final = (Outcome.PASSED, Outcome.FAILED, Outcome.CRASHED, Outcome.UNSUPPORTED)

_LEVEL_NAMES: Final = {
    0: "opens, compiles, refuses",
    1: "memory round trips",
    2: "one operator on one device",
    3: "explicit placement",
    4: "planning",
    5: "shapes, control flow, functions",
    6: "asynchrony, faults, state",
}

_INTRODUCTION: Final = """\
# Conformance of other engines

The corpus on the engines that this project ships adapters for. Every failure that a finding
explains was checked by hand and has a minimal program on the engine's page, and a waiver in the
file that the adapter ships; an item that an engine cannot express is unsupported by declaration,
never a pass.

Written by `{command}`, with `{install}`.
The command fails if an item fails that no finding explains, or if a finding explains nothing any
more. `hettest run --backend=jax --devices=cpu:0,cpu:1` runs one engine by itself.

Python {python}, {packages}.
"""

_LEGEND: Final = """\
*pass*: every item of the case passed. *pass 2/4*: the others are unsupported, in most cases for the
policy `replicate`. *FAIL 1/4*: so many items failed or crashed. *unsupported*: by declaration.
"""


def index(runs: Sequence[EngineRun]) -> str:
    """Return the page with the counts and with the table of cases."""
    packages = {p: v for run in runs for p, v in run.versions.items()}
    packages |= {name: version(name) for name in ("hettest", "numpy")}
    listed = ", ".join(f"{name} {number}" for name, number in sorted(packages.items()))
    head = _INTRODUCTION.format(
        command=COMMAND, install=INSTALL, python=platform.python_version(), packages=listed
    )
    return "\n".join([head, "## Counts", "", *_counts(runs), "", *_cases(runs)])


def _counts(runs: Sequence[EngineRun]) -> Iterable[str]:
    yield _row("engine", "devices", "level", *(str(o) for o in _SHOWN), "items")
    yield _row("---", "---", "---", *("---:" for _ in _SHOWN), "---:")
    for run in runs:
        link = f"[{run.engine.title}]({run.engine.key}.md)"
        for level in sorted({r.level for r in run.records if r.level is not None}):
            ended = Counter(r.outcome for r in run.records if r.level == level)
            numbers = [str(ended[outcome]) for outcome in _SHOWN]
            name = f"{level}: {_LEVEL_NAMES[level]}"
            total = str(sum(ended.values()))
            yield _row(link, ", ".join(run.engine.devices), name, *numbers, total)


def _cases(runs: Sequence[EngineRun]) -> Iterable[str]:
    yield from ("## Placement, case by case", "", _LEGEND)
    yield _row("case", *(run.engine.title for run in runs))
    yield _row("---", *("---" for _ in runs))
    grouped = [_by_case(run.records) for run in runs]
    for case in dict.fromkeys(case for found in grouped for case in found):
        if case.startswith(_PLACED):
            cells = (_cell(found.get(case, ())) for found in grouped)
            yield _row(f"`{case}`", *cells)


def _by_case(records: Iterable[Record]) -> Mapping[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(_case(record), []).append(record)
    return found


def _cell(records: Sequence[Record]) -> str:
    ended = Counter(record.outcome for record in records)
    failed, passed = sum(ended[o] for o in FAULTS), ended[Outcome.PASSED]
    if failed:
        return f"**FAIL {failed}/{len(records)}**"
    if passed:
        return "pass" if passed == len(records) else f"pass {passed}/{len(records)}"
    return "unsupported"


def page(run: EngineRun, shown: Mapping[str, str]) -> str:
    """Return the engine's page; ``shown`` is what the findings' programs print, by title."""
    engine = run.engine
    versions = ", ".join(f"{name} {number}" for name, number in run.versions.items())
    lines = [f"# {engine.title}", "", f"{versions}; devices {', '.join(engine.devices)}.", ""]
    lines += [engine.about, "", f"Written by `{COMMAND}`.", "", "## Counts", "", *_counts([run])]
    lines += ["", f"## Faults found: {len(engine.findings)}", ""]
    for number, finding in enumerate(engine.findings, 1):
        lines += _found(number, finding, run.records, shown[finding.title])
    lines += _unexplained(run)
    lines += ["## Unsupported by declaration", "", *_unsupported(run.records), ""]
    return "\n".join(lines)


def _found(number: int, finding: Finding, records: Iterable[Record], shown: str) -> Iterable[str]:
    items = [r for r in records if finding.explains(r)]
    cases = ", ".join(f"`{case}`" for case in dict.fromkeys(map(_case, items)))
    yield from (f"### {number}. {finding.title}", "", finding.text, "")
    if finding.link is not None:
        yield from (f"See <{finding.link}>.", "")
    yield from (f"Fails {len(items)} items of {cases}.", "")
    yield from ("```python", finding.program, "```", "", "prints", "")
    yield from ("```text", shown, "```", "")


def _unexplained(run: EngineRun) -> Iterable[str]:
    left = unexplained(run.engine, run.records)
    if left:
        yield from ("## Failures that are not explained yet", "")
        yield from (f"* `{record.id}`: {record.reason}" for record in left)
        yield ""


def _unsupported(records: Iterable[Record]) -> Iterable[str]:
    ended = Counter(r.reason for r in records if r.outcome is Outcome.UNSUPPORTED)
    yield _row("why", "items")
    yield _row("---", "---:")
    for reason, count in sorted(ended.items(), key=lambda pair: (-pair[1], pair[0])):
        yield _row(reason.replace("|", "\\|"), str(count))


def _case(record: Record) -> str:
    return record.id.partition("[")[0]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def problems(run: EngineRun) -> list[str]:
    """Return one line for each failure without a finding and each finding without a failure."""
    key, left = run.engine.key, unexplained(run.engine, run.records)
    lines = [f"{key}: no finding explains {record.id}: {record.reason}" for record in left]
    return lines + [f"{key}: {line}" for line in idle(run.engine, run.records, run.cases)]
