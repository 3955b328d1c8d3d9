"""Every mutant on every case: ``python -m tests.mutants.matrix`` writes the page, in minutes.

``python -m tests.mutants.matrix NAME ...`` tries these mutants only, and leaves the other rows as
they are. A mutant that ends its process is given another for the items that are left.

The named kills of `page` show that a mutant dies, and by what; this shows how much of the corpus
sees it. The first item of each case file is tried, and every item that is named for some kill.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, TypeAlias

from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Outcome, Record, Status
from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import PAIR, TRIO
from tests.mutants.running import ended

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "kill-matrix.md"
WORKERS: Final = 2
_SPAWNED: Final = multiprocessing.get_context("spawn")
CLAUSES: Final = (
    *("values", "placement", "copies", "moved", "arrivals", "evidence", "arguments", "memory"),
    *("diagnostics", "backend"),
)
CRASH: Final = "crash or hang"
ITEMS: Final = "items"
PATIENCE: Final = 5.0
"""Seconds of processor time after which an item hangs: a mutant may never leave a loop."""

_HEAD: Final = """\
# The kill matrix

How many items of the corpus fail on each [mutant](mutants.md), by area of the corpus and by the
clause that fails; an item may fail by several. Tried were the first item of each case file, and
those that are named for some kill: {items} items on {devices}. `python -m tests.mutants.matrix`
writes this page.
"""


@cache
def tried() -> tuple[str, ...]:
    """Return the items that mutants are tried on: one of each case file, and those named."""
    named = {kill.item for mutant in MUTANTS for kill in mutant.kills}
    first: dict[str, str] = {}
    corpus = cases(corpus_root())
    for devices in (TRIO, PAIR):
        for item in select(corpus, devices).items:
            first.setdefault(item.case.id, item.id)
    return tuple(dict.fromkeys((*first.values(), *sorted(named))))


def killed(name: str, items: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the items that fail on the mutant ``name``, and the clauses that they fail by."""
    found: dict[str, tuple[str, ...]] = {}
    at = 0
    while at < len(items):
        ends, theirs = multiprocessing.Pipe(duplex=False)
        child = _SPAWNED.Process(target=_tell, args=(theirs, name, tuple(items[at:])))
        child.start()
        theirs.close()
        for clauses in _told(ends):
            if clauses:
                found[items[at]] = clauses
            at += 1
        child.join()
        if at < len(items):
            found[items[at]] = (CRASH,)
            at += 1
    return found


def _told(ends: Connection) -> Iterator[tuple[str, ...]]:
    """Yield what a child sends until it ends, in whatever way."""
    with ends, suppress(EOFError):
        while True:
            yield ends.recv()


def _tell(ends: Connection, name: str, items: Sequence[str]) -> None:
    """Send, for each item in turn, the clauses that it fails by."""
    (mutant,) = (m for m in MUTANTS if m.name == name)
    backend = mutant.backend()
    for item in items:
        with _patience():
            record = ended(backend, item)
        ends.send(_failed(record))


def _failed(record: Record) -> tuple[str, ...]:
    if record.outcome is Outcome.CRASHED:
        return (CRASH,)
    if record.outcome is not Outcome.FAILED:
        return ()
    failed = [c.name for c in record.clauses if c.status is Status.FAILED]
    return tuple(dict.fromkeys(failed)) or (CRASH,)


@contextmanager
def _patience() -> Iterator[None]:
    """Let what takes too long end in an error, which is the mutant's crash."""

    def expired(*args: object) -> None:
        raise TimeoutError(f"took more than {PATIENCE:g} s")

    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def area(item: str) -> str:
    """Return the part of the corpus that an item is of: ``planning``, ``bugs/c24``."""
    first, _, rest = item.partition("/")
    return f"bugs/{rest[:3]}" if first == "bugs" else first


def _of(name: str) -> Mapping[str, tuple[str, ...]]:
    return killed(name, tried())


Counts: TypeAlias = "dict[str, Counter[str]]"
"""How many items each mutant dies by, by clause or by area; ``items`` is all of them."""


def counted(found: Mapping[str, Mapping[str, tuple[str, ...]]]) -> tuple[Counts, Counts]:
    """Return the items that each mutant kills, counted by clause and by area."""
    totals = {m: Counter({ITEMS: len(k)}) for m, k in found.items()}
    by_clause = {
        m: totals[m] + Counter(c for cs in k.values() for c in cs) for m, k in found.items()
    }
    by_area = {m: totals[m] + Counter(map(area, k)) for m, k in found.items()}
    return by_clause, by_area


def read(page: str) -> tuple[Counts, Counts]:
    """Return the counts that a page shows."""
    by_clause, by_area = (_read(part) for part in page.split("\n## ")[1:])
    return by_clause, by_area


def _read(part: str) -> Counts:
    lines = [[c.strip() for c in x.split("|")[1:-1]] for x in part.splitlines() if x[:1] == "|"]
    columns = lines[0][1:]
    return {
        cells[0].strip("`"): Counter(
            {name: int(cell) for name, cell in zip(columns, cells[1:], strict=True) if cell}
        )
        for cells in lines[2:]
    }


def rendered(by_clause: Counts, by_area: Counts, items: int) -> str:
    """Return the text of the page."""
    areas = sorted({a for counts in by_area.values() for a in counts} - {ITEMS})
    head = _HEAD.format(items=items, devices=", ".join(f"`{d}`" for d in TRIO))
    parts = [head, "## By clause\n", *_table(by_clause, (*CLAUSES, CRASH)), ""]
    parts += ["## By area\n", *_table(by_area, areas), ""]
    return "\n".join(parts)


def _table(counts: Counts, columns: Iterable[str]) -> Iterator[str]:
    names = (ITEMS, *columns)
    yield f"| mutant | {' | '.join(names)} |"
    yield f"|---|{'--:|' * len(names)}"
    for mutant in MUTANTS:
        if mutant.name in counts:
            found = counts[mutant.name]
            cells = (str(found[name]) if found[name] or name == ITEMS else "" for name in names)
            yield f"| `{mutant.name}` | {' | '.join(cells)} |"


def main(names: Sequence[str]) -> None:
    """Try mutants on every item and write the page."""
    chosen = names or [mutant.name for mutant in MUTANTS]
    found: dict[str, Mapping[str, tuple[str, ...]]] = {}
    with ThreadPoolExecutor(WORKERS) as pool:
        for name, kills in zip(chosen, pool.map(_of, chosen), strict=True):
            found[name] = kills
            print(f"{len(found)}/{len(chosen)} {name}: {len(kills)} items", flush=True)
    by_clause, by_area = read(PAGE.read_text("utf-8")) if names else ({}, {})
    for counts, more in zip((by_clause, by_area), counted(found), strict=True):
        counts.update(more)
    PAGE.write_text(rendered(by_clause, by_area, len(tried())), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
