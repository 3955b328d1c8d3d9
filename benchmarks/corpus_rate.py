"""How many corpus items the reference runs in a second, judged, on one core.

Run it: ``python -m benchmarks.corpus_rate``. The process keeps to one core and runs every fourth
item of the corpus on ``cpu,sim`` three times; the first warms up. Seconds are those of the
processor, so that others on the same core do not count. The exit code is 1 below 100 items a second
in the better of the other two, or if an item fails.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from typing import Final

from benchmarks.figures import figure

LIMIT: Final = 100.0

DEVICES: Final = "cpu,sim"

ROUNDS: Final = 3

STRIDE: Final = 4
"""One item in so many is run, so that it takes a minute at most."""


def main() -> int:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from hettest.devicemap import parse_devices
    from hettest.options import HetOptions
    from hettest.outcome import Outcome
    from hettest.session import KitSession

    options = HetOptions(
        parse_devices(DEVICES), None, "reference_vm", "incomplete", None, (), False
    )
    session = KitSession(options)
    items = session.corpus.items[::STRIDE]
    rates = []
    for turn in range(ROUNDS):
        wall, own = time.perf_counter(), time.process_time()
        outcomes = Counter(session.tested.here.run(item).outcome for item in items)
        seconds = time.perf_counter() - wall
        own = time.process_time() - own
        rates.append(len(items) / own)
        counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items()))
        print(
            f"run {turn + 1}: {len(items)} items ({counts}) in {own:.2f} s of the processor, "
            f"{rates[-1]:.0f} items/s; {seconds:.2f} s on the clock"
        )
    session.backend.close()
    best = max(rates[1:])
    kept = figure("items judged", best, "/s", least=LIMIT)
    wrong = outcomes[Outcome.FAILED] + outcomes[Outcome.CRASHED]
    return int(not figure("items failed or crashed", wrong, most=0) or not kept)


if __name__ == "__main__":
    sys.exit(main())
