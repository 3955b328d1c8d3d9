"""Results of airspeed velocity (asv), version 2 of its files, to and from stored runs.

::

    .asv/results/benchmarks.json                     what each benchmark measures, in which unit
    .asv/results/MACHINE/machine.json
    .asv/results/MACHINE/COMMIT-ENVIRONMENT.json     one run

A run has for each benchmark a row of columns, each a list with one element for each combination of
parameters; rows end where nothing more is known. A benchmark with parameters is several stored
ones, named as asv shows them: ``time_it(10, 'a')``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, final

from hettest.bench.exchange.values import SECONDS, Value, entry_of, values
from hettest.bench.located import Document
from hettest.bench.stored import Entry, StoredRun
from hettest.errors import UsageError
from hettest.files import file_name, json_text, write_files

VERSION: Final = 2
SCHEMA: Final = Path(__file__).with_name("asv.schema.json")
COLUMNS: Final = (
    *("result", "params", "version", "started_at", "duration"),
    *("stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75"),
    *("stats_number", "stats_repeat", "samples", "profile"),
)
ENVIRONMENT: Final = "hettest"
_NOT_RUNS: Final = frozenset({"machine.json", "benchmarks.json"})
_REPAIR: Final = "expected results of asv: .asv/results/MACHINE/COMMIT-ENVIRONMENT.json"
_GUESSES: Final = {"time": SECONDS, "timeraw": SECONDS, "mem": "bytes", "peakmem": "bytes"}
"""The unit by what a benchmark's name begins with, as asv has it."""


def read(path: Path) -> tuple[StoredRun, ...]:
    """Return the runs in a folder of results, or the one in a file, sorted by the commits' times.

    Raises:
        StoredError: A file is malformed, or not there; with line and key of each problem.
        UsageError: The folder has none.
    """
    files = sorted(_files(path)) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"{path}: holds no results of asv, {_REPAIR}")
    runs = [_Reader(Document.load(file, _REPAIR, words=True), _units(file)).run() for file in files]
    return tuple(sorted(runs, key=lambda run: run.when or datetime.min.replace(tzinfo=UTC)))


def _files(folder: Path) -> Iterator[Path]:
    for file in (*folder.glob("*.json"), *folder.glob("*/*.json")):
        if file.name not in _NOT_RUNS:
            yield file


def _units(file: Path) -> Mapping[str, str]:
    """Return the unit of each benchmark, if the folder of results says it."""
    path = file.parent.parent / "benchmarks.json"
    if not path.is_file():
        return {}
    found = Document.load(path, "expected what asv discovered of benchmarks")
    listed = found.data if isinstance(found.data, dict) else {}
    tables = {name: table for name, table in listed.items() if isinstance(table, dict)}
    return {name: str(table["unit"]) for name, table in tables.items() if "unit" in table}


@final
@dataclass
class _Reader:
    document: Document
    units: Mapping[str, str]
    entries: list[Entry] = field(default_factory=list)

    def run(self) -> StoredRun:
        self._require_version()
        self.document.check(SCHEMA)
        data = self.document.data
        for name, row in data["results"].items():
            self._add(name, dict(zip(data["result_columns"], row, strict=False)))
        when = self.document.time_at(("date",), data["date"])
        self.document.require_sound()
        return StoredRun(
            path=self.document.path,
            entries=tuple(self.entries),
            commit=data["commit_hash"],
            when=when,
            machine=_machine(data["params"]),
            python=str(data.get("python") or ""),
        )

    def _require_version(self) -> None:
        data = self.document.data
        found = data.get("version") if isinstance(data, dict) else None
        if found != VERSION:
            repair = "; asv update writes old ones anew" if found == 1 else f"; {_REPAIR}"
            message = f"found version {found!r}, expected {VERSION}{repair}"
            self.document.wrong(("version",), message)
            self.document.require_sound()

    def _add(self, name: str, row: Mapping[str, Any]) -> None:
        """Add the entries of one benchmark.

        What failed or was skipped has no number; of one that is not above zero nothing is a
        multiple.
        """
        combinations = list(product(*(row.get("params") or ())))
        results = row.get("result") or [None] * len(combinations)
        if len(results) != len(combinations):
            expected = f"expected one for each of {len(combinations)} combinations of parameters"
            self.document.wrong(("results", name), f"found {len(results)} results, {expected}")
            return
        samples = row.get("samples") or [None] * len(results)
        if not _are_samples(samples, len(results)):
            expected = "expected for each result null, or a list of numbers above 0"
            self.document.wrong(("results", name), f"found other samples, {expected}")
            return
        unit = self.units.get(name) or _guess(name)
        for chosen, number, rounds in zip(combinations, results, samples, strict=True):
            if number is not None and 0 < number < math.inf:
                full = f"{name}({', '.join(chosen)})" if chosen else name
                drawn = rounds or [number]
                self.entries.append(entry_of(full, drawn, unit, number=number, bigger=False))


def _are_samples(found: Any, count: int) -> bool:
    if not isinstance(found, list) or len(found) != count:
        return False
    return all(
        rounds is None or (isinstance(rounds, list) and all(map(_is_positive, rounds)))
        for rounds in found
    )


def _is_positive(found: Any) -> bool:
    return isinstance(found, int | float) and 0 < found < math.inf


def _guess(name: str) -> str:
    last = name.rpartition(".")[2]
    return _GUESSES.get(last.partition("_")[0].lower(), "unit")


def _machine(params: Mapping[str, Any]) -> str:
    return ", ".join(str(params[key]) for key in ("machine", "cpu") if params.get(key))


def write(folder: Path, runs: Sequence[StoredRun]) -> list[Path]:
    """Write runs as asv's results, and return the files; a paired benchmark becomes three.

    Raises:
        UsageError: A run does not say of which commit it is, two are of the same one, or they
            cannot be written.
    """
    discovered: dict[str, Any] = {}
    found: list[Path] = []
    files: dict[Path, Any] = {}
    for run in runs:
        if run.commit in ("", "unversioned"):
            raise UsageError(f"{run.path}: names no commit, which asv files results by")
        machine, _, cpu = run.machine.partition(", ")
        machine = file_name(machine, "unknown")
        path = folder / machine / f"{file_name(run.commit[:8], 'commit')}-{ENVIRONMENT}.json"
        if path in found:
            raise UsageError(f"{run.path}: is a second run of {run.commit[:8]}, asv keeps one")
        about = {"machine": machine, "cpu": cpu, "arch": "", "num_cpu": "", "os": "", "ram": ""}
        said = [value for entry in run.entries for value in values(entry)]
        discovered |= {value.name: _discovered(value) for value in said}
        files[folder / machine / "machine.json"] = about | {"version": 1}
        files[path] = _results(run, said, about)
        found.append(path)
    files[folder / "benchmarks.json"] = discovered | {"version": VERSION}
    write_files({path: json_text(data).encode() for path, data in files.items()})
    return found


def _results(run: StoredRun, said: Sequence[Value], about: Mapping[str, str]) -> dict[str, Any]:
    when = 0 if run.when is None else int(run.when.timestamp() * 1000)
    return {
        "commit_hash": run.commit,
        "env_name": ENVIRONMENT,
        "date": when,
        "params": dict(about) | {"python": run.python},
        "python": run.python,
        "requirements": {},
        "env_vars": {},
        "result_columns": list(COLUMNS),
        "results": {value.name: _row(value, when) for value in said},
        "durations": {},
        "version": VERSION,
    }


def _row(value: Value, when: int) -> list[Any]:
    low, high = (None, None)
    if len(value.rounds) > 1:
        low, _, high = quantiles(value.rounds, n=4, method="inclusive")
    row = [
        *([value.number], [], None, when, None),
        *([value.low], [value.high], [low], [high]),
        *([1], [max(len(value.rounds), 1)], [list(value.rounds) or None]),
    ]
    return [None if cell == [None] else cell for cell in row]


def _discovered(value: Value) -> dict[str, Any]:
    return {
        "name": value.name,
        "code": "",
        "param_names": [],
        "params": [],
        "type": "time" if value.unit == SECONDS else "track",
        "unit": value.unit,
        "version": "",
        "timeout": 60.0,
    }
