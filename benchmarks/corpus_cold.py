"""How long the whole corpus takes on two cores when no kernel was ever compiled.

Run it: ``python -m benchmarks.corpus_cold``. It runs ``pytest --pyargs hettest.suite`` on cpu and
sim with two workers and an empty kernel cache. Printed are the seconds on the clock and those of
the processor; half of the latter is what two free cores need, and the exit code is 1 if that is
more than 6 minutes, or if the run is not green.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Final

from benchmarks.figures import figure
from reference_vm.jit.object_cache import VARIABLE

LIMIT: Final = 360.0
CORES: Final = 2
COMMAND: Final = (
    *(sys.executable, "-m", "pytest", "-q", "--pyargs", "hettest.suite", "--devices=cpu,sim"),
    *("-n", str(CORES), "-p", "no:cacheprovider"),
)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, VARIABLE: folder}
        start = time.perf_counter()
        run = subprocess.run(COMMAND, env=environment, capture_output=True, text=True)
        wall = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = used.ru_utime + used.ru_stime
    print("\n".join(run.stdout.strip().splitlines()[-3:]))
    print(f"{wall:.0f} s on the clock, {own:.0f} s of the processor")
    kept = figure(f"cold, on {CORES} cores", own / CORES, " s", most=LIMIT)
    return int(not kept or run.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
