"""How long it takes to have MiniLM ready to run: from nothing, with its kernels, and whole.

Run it: ``python -m benchmarks.minilm_compile``. Each measurement is a process of its own, and
begins when the model was read and everything is imported; seconds are those of the processor, of
all threads. *Cold* finds no cache, *warm* the machine code of its kernels, *kept* the whole program
too. The exit code is 1 if one takes longer than its limit in the median. The model comes as
`make run` gets it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.side_by_side import within
from reference_vm.jit.object_cache import PROGRAMS, VARIABLE

LIMITS: Final = {"cold": 5.0, "warm": 1.0, "kept": 0.2}
"""Seconds."""

ROUNDS: Final = 5


def measure() -> float:
    """Return the seconds from the module to a session that is ready to run."""
    import reference_vm as rv
    from benchmarks.real_models.fetch import fetch
    from benchmarks.real_models.lock import models
    from reference_vm.runtime.native import executor  # noqa: F401 - imports are not measured
    from reference_vm.targets.numba import kernel  # noqa: F401

    module = rv.from_onnx(fetch(next(m for m in models() if "MiniLM" in m.id)))
    small = rv.parse("module {\n  fn @main(%x: f32[4]) -> f32[4] {\n    return %x\n  }\n}\n")
    rv.Session(rv.compile(small))
    start = time.process_time()
    rv.Session(rv.compile(module))
    return time.process_time() - start


def elsewhere(folder: Path, programs: str) -> float:
    """Measure in a process of its own, with what is kept in ``folder``."""
    command = [sys.executable, "-m", "benchmarks.minilm_compile", "--once"]
    environment = {**os.environ, VARIABLE: str(folder), PROGRAMS: programs}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    seconds: float = json.loads(run.stdout)
    return seconds


def main() -> int:
    if "--once" in sys.argv:
        print(json.dumps(measure()))
        return 0
    spent: dict[str, list[float]] = {name: [] for name in LIMITS}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            spent["cold"].append(elsewhere(Path(folder), "off"))
            spent["warm"].append(elsewhere(Path(folder), "off"))
            elsewhere(Path(folder), "on")
            spent["kept"].append(elsewhere(Path(folder), "on"))
    kept = True
    for name, seconds in spent.items():
        kept &= within(f"MiniLM, {name}", statistics.median(seconds), LIMITS[name], " s")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
