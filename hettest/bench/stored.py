"""Reads the JSON files that pytest-benchmark writes (``--benchmark-json``, ``--benchmark-save``).

::

    run = read(Path("bench.json"))
    run.commit, run.machine                  # where it was measured
    for entry in run.entries:                # one for each benchmark, hettest's or not
        entry.name, entry.median
        if entry.paired is not None:         # of het_benchmark
            entry.paired.verdict

Whatever is wrong with a file is one `StoredError`, with line and key of each problem. A benchmark
that is not hettest's own has no `paired`; one whose paired part is malformed is an error, never
taken for one without.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, final

from hettest.bench.located import Document, StoredError, validator
from hettest.bench.measurement import Paired
from hettest.case.lines import Path as Key
from hettest.files.reading import time_of

SCHEMA: Final = Path(__file__).with_name("stored.schema.json")
_REPAIR: Final = "expected a file of pytest-benchmark: pytest --benchmark-json=FILE"


@final
@dataclass(frozen=True)
class Entry:
    """One benchmark of one run."""

    name: str
    """The test's node id."""

    median: float
    """Seconds; of a paired one, placed."""

    stddev: float
    rounds: int
    seconds: tuple[float, ...] = ()
    """Of each round, in order; empty if the file does not keep them."""

    paired: Paired | None = None
    """Of `het_benchmark`."""

    unit: str = "seconds"
    """Of the median; an imported benchmark may have measured something else."""

    bigger_is_better: bool = False


@final
@dataclass(frozen=True)
class StoredRun:
    """One file."""

    path: Path
    entries: tuple[Entry, ...]
    commit: str = ""
    """The commit's id; empty if it is not known."""

    branch: str = ""
    dirty: bool = False
    """Whether the sources were other than those of the commit."""

    when: datetime | None = None
    machine: str = ""
    """Its name and processor."""

    python: str = ""
    """The version that ran it."""

    def __str__(self) -> str:
        """Return which run it is: file, commit, time and machine, as far as they are known."""
        when = None if self.when is None else f"{self.when:%Y-%m-%d %H:%M}"
        dirty = " with changes" if self.dirty else ""
        known = (self.commit[:12] + dirty, when, self.machine)
        return ", ".join([str(self.path), *(part for part in known if part)])

    @cached_property
    def by_name(self) -> Mapping[str, Entry]:
        return {entry.name: entry for entry in self.entries}


def read(path: Path) -> StoredRun:
    """Return what the file at ``path`` holds.

    Raises:
        StoredError: There is no such file, or it is malformed; with line and key of each problem.
    """
    return _Reader(Document.load(path, _REPAIR)).run()


@final
@dataclass
class _Reader:
    document: Document

    def run(self) -> StoredRun:
        data = self.document.data
        listed = data.get("benchmarks") if isinstance(data, dict) else None
        if not isinstance(listed, list):
            self._wrong(("benchmarks",), f"found no list of benchmarks; {_REPAIR}")
            raise StoredError(self.document.problems)
        entries = [self._entry(i, entry) for i, entry in enumerate(listed)]
        names = [entry.name for entry in entries if entry is not None]
        for i, name in enumerate(names):
            if name in names[:i]:
                self._wrong(("benchmarks", i), f"found {name} twice, expected each name once")
        commit, machine = self._table("commit_info"), self._table("machine_info")
        when = self._when()
        self.document.require_sound()
        return StoredRun(
            path=self.document.path,
            entries=tuple(entry for entry in entries if entry is not None),
            commit=str(commit.get("id") or ""),
            branch=str(commit.get("branch") or ""),
            dirty=bool(commit.get("dirty")),
            when=when,
            machine=_machine(machine),
            python=str(machine.get("python_version") or ""),
        )

    def _entry(self, index: int, found: Any) -> Entry | None:
        key: Key = ("benchmarks", index)
        stats = found.get("stats") if isinstance(found, dict) else None
        name = found.get("fullname") if isinstance(found, dict) else None
        if not isinstance(name, str) or not isinstance(stats, dict):
            self._wrong(key, f"found no fullname and stats; {_REPAIR}")
            return None
        before = len(self.document.problems)
        numbers = {n: self._seconds((*key, "stats", n), stats.get(n)) for n in ("median", "stddev")}
        unit, bigger = self._imported((*key, "extra_info"), found.get("extra_info"))
        seconds = self._series((*key, "stats", "data"), stats.get("data", []), unit)
        rounds = stats.get("rounds")
        if not isinstance(rounds, int) or rounds < 1:
            self._wrong((*key, "stats", "rounds"), f"found {rounds!r}, expected 1 or more")
        paired = self._paired((*key, "extra_info"), found.get("extra_info"))
        if len(self.document.problems) > before:
            return None
        return Entry(
            name=name,
            median=numbers["median"],
            stddev=numbers["stddev"],
            rounds=int(rounds or 0),
            seconds=seconds,
            paired=paired,
            unit=unit,
            bigger_is_better=bigger,
        )

    def _seconds(self, key: Key, found: Any) -> float:
        if _is_number(found) and found >= 0:
            return float(found)
        self._wrong(key, f"found {found!r}, expected a number of seconds")
        return math.nan

    def _series(self, key: Key, found: Any, unit: str) -> tuple[float, ...]:
        """Return what each round took; no round takes no time, other units may be 0."""
        if not isinstance(found, list) or not all(map(_is_number, found)):
            self._wrong(key, "expected a list of seconds, one for each round")
            return ()
        for i, value in enumerate(found):
            if value < 0 or (value == 0 and unit == "seconds"):
                self._wrong((*key, i), f"found {value!r}, expected a positive number of {unit}")
                return ()
        return tuple(map(float, found))

    def _paired(self, key: Key, info: Any) -> Paired | None:
        if not isinstance(info, dict) or "hettest" not in info:
            return None
        errors = list(validator(SCHEMA).iter_errors(info["hettest"]))
        for error in errors:
            self._wrong((*key, "hettest", *error.absolute_path), error.message)
        if errors:
            return None
        found = Paired.from_json(info["hettest"])
        for message in _inconsistent(found):
            self._wrong((*key, "hettest"), message)
        return found

    def _imported(self, key: Key, info: Any) -> tuple[str, bool]:
        """Return the unit, and whether more of it is better; seconds unless it was imported."""
        found = info.get("imported") if isinstance(info, dict) else None
        if found is None:
            return "seconds", False
        unit = found.get("unit") if isinstance(found, dict) else None
        bigger = found.get("bigger_is_better") if isinstance(found, dict) else None
        if not isinstance(unit, str) or not isinstance(bigger, bool):
            self._wrong((*key, "imported"), "expected unit, a text, and bigger_is_better")
            return "", False
        return unit, bigger

    def _table(self, name: str) -> Mapping[str, Any]:
        found = self.document.data.get(name, {})
        if isinstance(found, dict):
            return found
        self._wrong((name,), f"found {found!r}, expected an object")
        return {}

    def _when(self) -> datetime | None:
        found = self.document.data.get("datetime")
        try:
            return None if found is None else time_of(found)
        except ValueError as error:
            self._wrong(("datetime",), str(error))
            return None

    def _wrong(self, key: Key, message: str) -> None:
        self.document.wrong(key, message)


def _is_number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)


def _inconsistent(found: Paired) -> Iterator[str]:
    """Yield what a measurement says that cannot all be true."""
    timings, sweep = found.timings, found.sweep
    if (timings is None) is not bool(found.not_timed):
        yield "it says why it was not timed exactly if it was not; found both, or neither"
    if timings is not None and len(timings.cpu_only) != len(timings.placed):
        sides = f"{len(timings.cpu_only)} CPU-only rounds and {len(timings.placed)} placed ones"
        yield f"found {sides}, expected as many of each"
    if sweep is not None and len(sweep.sizes) != len(sweep.found):
        yield f"found {len(sweep.found)} assessments of {len(sweep.sizes)} sizes"


def _machine(info: Mapping[str, Any]) -> str:
    cpu = info.get("cpu")
    brand = cpu.get("brand_raw") if isinstance(cpu, dict) else None
    return ", ".join(str(part) for part in (info.get("node"), brand) if part)


__all__ = ["Entry", "StoredError", "StoredRun", "read"]
