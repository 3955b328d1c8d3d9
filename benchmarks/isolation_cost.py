"""What it costs an item to run in a process of its own, in batches as ``hettest run`` makes them.

Run it: ``python -m benchmarks.isolation_cost``. ``hettest run`` runs the same items with and without
isolation, in turn; the difference holds all there is: starting processes and ending them, loading
the backend in each, caches that are empty again, sending items and records. The exit code is 1 if
its median over the rounds is above 30 ms an item, or if a run fails.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.side_by_side import in_turn, within

LIMIT: Final = 30.0
"""Milliseconds that an item may cost more."""

PATTERNS: Final = ("placement", "ops/a*", "ops/s*")
ROUNDS: Final = 3


def main() -> int:
    """Print what each round cost; return 1 if the median is above the limit."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        items = run("--no-isolate", report)
        spent = in_turn(
            {how: lambda how=how: run(how, report) for how in ("--no-isolate", "--isolate")},
            rounds=ROUNDS,
            warm_up=0,
        )
    costs = [
        1e3 * (apart - here) / items
        for here, apart in zip(spent["--no-isolate"], spent["--isolate"], strict=True)
    ]
    for here, apart, cost in zip(*spent.values(), costs, strict=True):
        print(f"{items} items: {here:.2f} s here, {apart:.2f} s isolated, {cost:+.2f} ms an item")
    return within("milliseconds an item", statistics.median(costs), LIMIT)


def run(how: str, report: Path) -> int:
    """Run the items in a new process and return how many they are; all must pass."""
    command = "from hettest.cli.main import main; main()"
    options = [*PATTERNS, how, f"--report={report}"]
    subprocess.run(
        [sys.executable, "-c", command, "run", *options], check=True, stdout=subprocess.DEVNULL
    )
    return len(json.loads(report.read_text(encoding="utf-8"))["items"])


if __name__ == "__main__":
    sys.exit(main())
