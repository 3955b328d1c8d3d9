"""Every mutant on every case: ``python -m tests.mutants.matrix`` writes the page, in minutes.

The named kills of `page` show that a mutant dies, and by what; this shows how much of the corpus
sees it. The first item of each case file is tried, and every item that is named for some kill.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Outcome, Status
from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import PAIR, TRIO, Mutant
from tests.mutants.running import ended

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "kill-matrix.md"
WORKERS: Final = 2
CLAUSES: Final = (
    *("values", "placement", "copies", "moved", "arrivals", "evidence", "arguments", "memory"),
    *("diagnostics", "backend"),
)
CRASH: Final = "crash or hang"
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


def killed(mutant: Mutant, items: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the items that fail on ``mutant``, and the clauses that they fail by."""
    found: dict[str, tuple[str, ...]] = {}
    backend = mutant.backend()
    for item in items:
        with _patience():
            record = ended(backend, item)
        if record.outcome is Outcome.CRASHED:
            found[item] = (CRASH,)
        elif record.outcome is Outcome.FAILED:
            failed = [c.name for c in record.clauses if c.status is Status.FAILED]
            found[item] = tuple(dict.fromkeys(failed)) or (CRASH,)
    return found


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
    (mutant,) = (m for m in MUTANTS if m.name == name)
    return killed(mutant, tried())


def rendered(found: Mapping[str, Mapping[str, tuple[str, ...]]], items: int) -> str:
    """Return the text of the page, from the items that each mutant kills."""
    columns = (*CLAUSES, CRASH)
    by_clause = {m: Counter(c for cs in k.values() for c in cs) for m, k in found.items()}
    by_area = {m: Counter(map(area, k)) for m, k in found.items()}
    areas = sorted({a for counts in by_area.values() for a in counts})
    totals = {m: len(k) for m, k in found.items()}
    head = _HEAD.format(items=items, devices=", ".join(f"`{d}`" for d in TRIO))
    parts = [head, "## By clause\n", *_table(by_clause, columns, totals), ""]
    parts += ["## By area\n", *_table(by_area, areas, totals), ""]
    return "\n".join(parts)


def _table(
    counts: Mapping[str, Counter[str]], columns: Iterable[str], totals: Mapping[str, int]
) -> Iterator[str]:
    names = tuple(columns)
    yield f"| mutant | items | {' | '.join(names)} |"
    yield f"|---|{'--:|' * (len(names) + 1)}"
    for mutant, found in counts.items():
        cells = (str(found[name] or "") for name in names)
        yield f"| `{mutant}` | {totals[mutant]} | {' | '.join(cells)} |"


def main() -> None:
    """Try every mutant on every item and write the page."""
    names = [mutant.name for mutant in MUTANTS]
    found: dict[str, Mapping[str, tuple[str, ...]]] = {}
    with ProcessPoolExecutor(WORKERS) as pool:
        for name, kills in zip(names, pool.map(_of, names), strict=True):
            found[name] = kills
            print(f"{len(found)}/{len(names)} {name}: {len(kills)} items", flush=True)
    PAGE.write_text(rendered(found, len(tried())), encoding="utf-8")


if __name__ == "__main__":
    main()
