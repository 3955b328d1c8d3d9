"""What a test that puts an array on a device waits for, before it begins and after it ends.

Run it: ``python -m benchmarks.first_seconds``. In a folder with one test, processes of pytest that
run it on ``cpu:0`` and ``sim:0`` and processes that run the same test without a device, and without
the plugin, take turns. The exit code is 1 if the plugin costs more than 0.5 s.
"""

from __future__ import annotations

import functools
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.side_by_side import in_turn, within

LIMIT: Final = 0.5

ROUNDS: Final = 11

_ON_DEVICES: Final = """import numpy as np


def test_ones(device):
    assert (device.get(device.put(np.ones(3))) == 1).all()
"""
_PLAIN: Final = """import numpy as np


def test_ones():
    assert (np.ones(3) == 1).all()
"""
_VARIANTS: Final = {
    "with": (_ON_DEVICES, ("--devices=cpu,sim",)),
    "without": (_PLAIN, ("-p", "no:hettest")),
}


def run(file: Path, options: tuple[str, ...]) -> None:
    """Run the tests of a file in a process of its own.

    Raises:
        CalledProcessError: They did not pass.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file), *options]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
    subprocess.run(command, cwd=file.parent, env=environment, check=True, capture_output=True)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        contenders = {}
        for name, (test, options) in _VARIANTS.items():
            file = Path(folder, f"test_{name}.py")
            file.write_text(test, encoding="utf-8")
            contenders[name] = functools.partial(run, file, options)
        spent = in_turn(contenders, rounds=ROUNDS)
    for name, seconds in spent.items():
        print(f"a test {name} the plugin: {statistics.median(seconds) * 1e3:.0f} ms")
    pairs = zip(spent["with"], spent["without"], strict=True)
    return int(not within("the plugin", statistics.median(a - b for a, b in pairs), LIMIT, " s"))


if __name__ == "__main__":
    sys.exit(main())
