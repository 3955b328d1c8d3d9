"""What it costs an item to run in a process of its own, in batches as ``hettest run`` makes them.

Run it: ``python -m benchmarks.isolation_cost``. ``hettest run`` runs the same items with and
without isolation, in turn; the difference holds all there is: starting processes and ending them,
loading the backend in each, caches that are empty again, sending items and records. Seconds are
those of the processor, so that others on the same machine do not count. The exit code is 1 if the
median over the rounds is above 30 ms an item, or if a run fails.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from benchmarks.side_by_side import within

LIMIT: Final = 30.0
"""Milliseconds that an item may cost more."""

PATTERNS: Final = ("placement", "ops/a*", "ops/s*")
ROUNDS: Final = 3


def main() -> int:
    """Print what each round cost; return 1 if the median is above the limit."""
    costs = []
    for _ in range(ROUNDS):
        here, apart = run("--no-isolate"), run("--isolate")
        costs.append(1e3 * (apart.processor - here.processor) / apart.items)
        print(
            f"{apart.items} items: {here.processor:.2f} s here, {apart.processor:.2f} s isolated, "
            f"{costs[-1]:+.2f} ms an item; on the clock {here.clock:.2f} s and {apart.clock:.2f} s"
        )
    return 0 if within("cost of an isolated item", statistics.median(costs), LIMIT, " ms") else 1


@final
@dataclass(frozen=True)
class Spent:
    """What a run took."""

    items: int
    processor: float
    """Seconds of the processor, of the command and all its processes."""

    clock: float


def run(how: str) -> Spent:
    """Run the items in a new process; all must pass."""
    command = "from hettest.cli.main import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = [*PATTERNS, how, f"--report={report}"]
        before, begin = _processor(), time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", command, "run", *options], check=True, stdout=subprocess.DEVNULL
        )
        clock = time.perf_counter() - begin
        items = json.loads(report.read_text(encoding="utf-8"))["items"]
    return Spent(len(items), _processor() - before, clock)


def _processor() -> float:
    """Return the seconds of the processor that processes took which have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    sys.exit(main())
