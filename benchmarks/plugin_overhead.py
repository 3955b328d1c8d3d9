"""What the plugin costs a project that does not use it: collecting its tests, with it and without.

Run it: ``python -m benchmarks.plugin_overhead``. In a folder with one test, processes given
``--devices=cpu`` and processes given ``-p no:hettest`` take turns. The exit code is 1 if the plugin
costs more than 0.15 s.
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

LIMIT: Final = 0.15

ROUNDS: Final = 11

_TEST: Final = "def test_sum():\n    assert 1 + 1 == 2\n"

_VARIANTS: Final = {
    "with": ("--devices=cpu",),
    "without": ("-p", "no:hettest"),
}


def collect(folder: str, options: tuple[str, ...]) -> None:
    """Collect the tests in ``folder`` in a process of its own.

    Raises:
        CalledProcessError: It did not collect them.
    """
    command = [sys.executable, "-m", "pytest", "--co", "-q", *options]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_sum.py").write_text(_TEST, encoding="utf-8")
        contenders = {
            name: functools.partial(collect, folder, options) for name, options in _VARIANTS.items()
        }
        spent = in_turn(contenders, rounds=ROUNDS)
    for name, seconds in spent.items():
        print(f"{name} the plugin: {statistics.median(seconds) * 1e3:.0f} ms")
    pairs = zip(spent["with"], spent["without"], strict=True)
    return int(not within("the plugin", statistics.median(a - b for a, b in pairs), LIMIT, " s"))


if __name__ == "__main__":
    sys.exit(main())
