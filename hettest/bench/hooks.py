"""What pytest, pytest-benchmark and the fixture ``het_benchmark`` need to know of each other.

A test that takes ``het_benchmark`` makes pytest-benchmark's own fixture only when it comes to
timing. So that ``--benchmark-only`` and ``--benchmark-skip`` count it all the same, it is shown
with that fixture while pytest-benchmark chooses.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Final, final

import pytest

from hettest.outcome import Record

if TYPE_CHECKING:
    from hettest.bench.measurement import Paired
    from hettest.bench.rounds import Clock, Timer

TIMING: Final = "timing"
"""The name of the clause that says what was measured, or why nothing was."""

MEASURED: Final = pytest.StashKey[list["Paired"]]()
"""On a pytest item: what was measured in it."""

OWN: Final = "het_benchmark"
THEIRS: Final = "benchmark"


@final
class AsBenchmarks:
    """A plugin of one hook, around those of all others."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        found = {id(names): names for item in items for names in _unseen(item)}
        for names in found.values():
            names.append(THEIRS)
        try:
            return (yield)
        finally:
            for names in found.values():
                names.remove(THEIRS)


def _unseen(item: pytest.Item) -> Generator[list[str], None, None]:
    names = getattr(item, "fixturenames", None)
    if isinstance(names, list) and OWN in names and THEIRS not in names:
        yield names


def with_timing(item: pytest.Item, record: Record) -> Record:
    """Return the record of a test, with what was measured in it."""
    found = tuple(measured.clause() for measured in item.stash.get(MEASURED, ()))
    return replace(record, clauses=(*record.clauses, *found)) if found else record


def timing_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield one line for each benchmark: its verdict, or why nothing was timed."""
    for record in records:
        for clause in record.clauses:
            if clause.name == TIMING:
                yield f"{record.id}: {clause.detail}"


def why_off(config: pytest.Config) -> str:
    """Return why pytest-benchmark times nothing in this run, as far as options tell."""
    if hasattr(config, "workerinput"):
        return "pytest-benchmark times nothing under pytest-xdist; run without -n"
    if config.getoption("benchmark_disable", False):
        return "--benchmark-disable was given"
    return "pytest-benchmark is switched off"


def clock(item: pytest.Item) -> Clock:
    """Return how pytest-benchmark times a test: as its own marker says, else as the options do."""
    from hettest.bench.rounds import Clock

    named = item.config.getoption("benchmark_timer", "time.perf_counter")
    marker = item.get_closest_marker("benchmark")
    own = marker.kwargs if marker else {}
    collected = item.config.getoption("benchmark_disable_gc", False)
    return Clock(own.get("timer") or _timer(str(named)), bool(own.get("disable_gc", collected)))


def _timer(name: str) -> Timer:
    """Return the function that ``--benchmark-timer`` names; what it calls pep418 is ``time``."""
    module, _, function = name.rpartition(".")
    found: Timer = getattr(import_module("time" if module == "pep418" else module), function)
    return found
