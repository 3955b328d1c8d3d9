"""Files of github-action-benchmark, to and from stored runs.

* An array, which its tools ``customSmallerIsBetter`` and ``customBiggerIsBetter`` read::

    [{"name": "test_it", "unit": "s", "value": 0.0012, "range": "± 0.0001", "extra": "40 rounds"}]

* its history, ``data.js``: ``window.BENCHMARK_DATA = `` and an object whose ``entries`` has, for
  each suite, a list of runs; each has a ``commit``, a ``date`` in milliseconds, a ``tool``, and
  such an array as ``benches``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

from hettest.bench.exchange.values import SECONDS, Value, entry_of, values
from hettest.bench.located import Document
from hettest.bench.stored import Entry, StoredRun
from hettest.errors import UsageError
from hettest.files import json_text

PREFIX: Final = "window.BENCHMARK_DATA = "
SUITE: Final = "hettest"
SCHEMA: Final = Path(__file__).with_name("action.schema.json")
ARRAY_SCHEMA: Final = Path(__file__).with_name("action_array.schema.json")
_BIGGER: Final = frozenset({"pytest", "benchmarkjs", "customBiggerIsBetter"})
"""Tools whose numbers are the better the bigger they are."""

_REPAIR: Final = "expected an array for github-action-benchmark, or its data.js"


class Shown(StrEnum):
    """Which number of a paired benchmark is exported."""

    SECONDS = "seconds"
    """Of the placed program, and of all that is not paired."""

    RATIO = "ratio"
    """Placed by CPU-only; smaller is better."""

    SPEEDUP = "speedup"
    """CPU-only by placed; bigger is better."""

    @property
    def tool(self) -> str:
        """What the action's input ``tool`` has to be."""
        return "customBiggerIsBetter" if self is Shown.SPEEDUP else "customSmallerIsBetter"


def read(path: Path, *, bigger: bool = False) -> tuple[StoredRun, ...]:
    """Return the runs of a history, from the first to the last, or the one run of an array.

    Args:
        path: The file; a history ends in ``.js``.
        bigger: Whether more is better in an array, which does not say so.

    Raises:
        StoredError: The file is malformed, or not there; with line and key of each problem.
    """
    if path.suffix != ".js":
        document = Document.load(path, _REPAIR)
        document.check(ARRAY_SCHEMA)
        return (StoredRun(path, tuple(_entries(document, (), document.data, bigger))),)
    document = Document.load(path, _REPAIR, before=PREFIX)
    document.check(SCHEMA)
    suites = document.data["entries"]
    runs = [
        _run(document, ("entries", suite, number), found, f"{suite}: " if len(suites) > 1 else "")
        for suite, listed in suites.items()
        for number, found in enumerate(listed)
    ]
    document.require_sound()
    return tuple(sorted(runs, key=lambda run: run.when or datetime.min.replace(tzinfo=UTC)))


def _run(
    document: Document, key: tuple[str | int, ...], found: Mapping[str, Any], suite: str
) -> StoredRun:
    bigger = found["tool"] in _BIGGER
    return StoredRun(
        path=document.path,
        entries=tuple(_entries(document, (*key, "benches"), found["benches"], bigger, suite)),
        commit=found["commit"]["id"],
        when=document.time_at((*key, "date"), found["date"]),
    )


def _entries(
    document: Document,
    key: tuple[str | int, ...],
    found: Sequence[Mapping[str, Any]],
    bigger: bool,
    suite: str = "",
) -> Iterator[Entry]:
    """Yield an entry for each name; numbers of one name and unit are its rounds.

    A number that is not above zero is left out: nothing is a multiple of it.
    """
    numbers: dict[tuple[str, str], list[float]] = {}
    for index, bench in enumerate(found):
        number = _number(bench["value"])
        if number is None:
            document.wrong((*key, index, "value"), f"found {bench['value']!r}, expected a number")
        elif 0 < number < math.inf:
            unit = bench.get("unit") or "unit"
            numbers.setdefault((suite + bench["name"], unit), []).append(number)
    document.require_sound()
    names = [name for name, _ in numbers]
    for (name, unit), rounds in numbers.items():
        full = f"{name}, {unit}" if names.count(name) > 1 else name
        yield entry_of(full, rounds, unit, bigger=bigger)


def _number(found: Any) -> float | None:
    """Return the number; older histories have it as text."""
    try:
        return float(found)
    except ValueError:
        return None


def array(run: StoredRun, shown: Shown) -> list[dict[str, Any]]:
    """Return what the action reads of one run.

    Raises:
        UsageError: It has no benchmark of which that number is known.
    """
    found = [_bench(value, shown) for entry in run.entries for value in _shown(entry, shown)]
    if not found:
        raise UsageError(f"{run.path}: has no benchmark whose {shown} is known")
    return found


def script(runs: Sequence[StoredRun], shown: Shown) -> str:
    """Return the text of ``data.js`` with all runs.

    Raises:
        UsageError: One has no benchmark of which that number is known.
    """
    entries = [
        {
            "commit": _commit(run),
            "date": _milliseconds(run),
            "tool": shown.tool,
            "benches": array(run, shown),
        }
        for run in runs
    ]
    last = max(map(_milliseconds, runs), default=0)
    data = {"lastUpdate": last, "repoUrl": "", "entries": {SUITE: entries}}
    return PREFIX + json_text(data, indent=2)


def _shown(entry: Entry, shown: Shown) -> Iterator[Value]:
    """Yield the one number of a benchmark that is asked for, if it is known."""
    found = {value.name.removeprefix(entry.name): value for value in values(entry)}
    name = "" if shown is Shown.SECONDS else ":ratio"
    if name in found:
        yield found[name]


def _bench(value: Value, shown: Shown) -> dict[str, Any]:
    if shown is Shown.SECONDS:
        unit = "s" if value.unit == SECONDS else value.unit
        return _plain(value.name, unit, value.number, _quartiles(value), value)
    name, ends = value.name.removesuffix(":ratio"), (value.low, value.high)
    if shown is Shown.RATIO:
        return _plain(name, "ratio", value.number, ends, value)
    low, high = (None if end is None or end == 0 else 1 / end for end in ends)
    return _plain(name, "speedup", 1 / value.number, (high, low), value)


def _plain(
    name: str,
    unit: str,
    number: float,
    ends: tuple[float | None, float | None],
    value: Value,
) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "unit": unit, "value": number}
    low, high = ends
    if low is not None and high is not None and math.isfinite(high):
        found["range"] = f"± {(high - low) / 2:.3g}"
    rounds = f"{len(value.rounds)} rounds" if value.rounds else ""
    extra = "\n".join(text for text in (value.note, rounds) if text)
    return found | ({"extra": extra} if extra else {})


def _quartiles(value: Value) -> tuple[float | None, float | None]:
    if len(value.rounds) < 2:
        return None, None
    low, _, high = quantiles(value.rounds, n=4, method="inclusive")
    return low, high


def _commit(run: StoredRun) -> dict[str, Any]:
    """Return what the action's page shows of a commit, as far as a stored run knows it."""
    nobody = {"name": "", "email": "", "username": ""}
    return {
        "author": nobody,
        "committer": nobody,
        "id": run.commit,
        "message": run.branch,
        "timestamp": "" if run.when is None else run.when.isoformat(),
        "url": "",
    }


def _milliseconds(run: StoredRun) -> int:
    return 0 if run.when is None else round(run.when.timestamp() * 1000)
