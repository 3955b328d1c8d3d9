"""Runs the benchmarks of a checkout, each time in a process of its own, and reads what they say.

Where nothing was timed, that is an error that says why: pytest-benchmark is not there or switched
off, goes quiet under pytest-xdist, or pytest found no tests. A gate never takes it for a pass.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final, final

from hettest.bench.stored import StoredRun, read
from hettest.errors import HettestError, UsageError

_TAIL: Final = 15
"""Lines of pytest's output that are shown with an error."""

_FAILED: Final = 1
_NO_TESTS: Final = 5
_OFF: Final = "pytest-benchmark is not installed, or is switched off (-p no:benchmark)"
_QUIET: Final = "pytest-benchmark times nothing under pytest-xdist; run without -n"
_REASONS: Final = (
    (re.compile(r"unrecognized arguments:.*--benchmark"), _OFF),
    (re.compile(r": not timed: (.+)"), ""),
    (re.compile(r"xdist plugin is active"), _QUIET),
)
"""What to look for in pytest's output, and what it means; if nothing is said, what was found."""


@final
class Unmeasured(HettestError):
    """The benchmarks of a checkout did not run, or not all of them held."""

    def __init__(self, message: str, *, failed: bool = False) -> None:
        super().__init__(message)
        self.failed = failed
        """Whether tests of the checkout that is to be judged failed."""


@final
@dataclass(frozen=True)
class Checkout:
    """A folder of sources and benchmarks, and how pytest is run in it."""

    name: str
    """What messages call it: ``this checkout``."""

    path: Path
    command: tuple[str, ...]
    args: tuple[str, ...] = ()
    """Of pytest."""

    seconds: float = 3600.0
    """How long one run may take."""

    is_judged: bool = True
    """Whether its failing tests are those of the change."""


@final
@dataclass(frozen=True)
class Bench:
    """Where runs are kept; each has a file of its own."""

    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def measured(self, checkout: Checkout, leave_out: Collection[str] = ()) -> StoredRun:
        """Run the benchmarks of a checkout, but for those named, and return what they say.

        Raises:
            Unmeasured: A test failed, pytest did not run to its end, or nothing was timed.
            UsageError: There is no such folder or command.
            StoredError: What pytest-benchmark wrote is malformed.
        """
        stem = f"{next(self._numbers):04}_{checkout.name.replace(' ', '_')}"
        stored, log = (self.folder / f"{stem}.{ending}" for ending in ("json", "log"))
        ended = _run(checkout, stored, log, leave_out)
        output = log.read_text(encoding="utf-8", errors="replace")
        if ended != 0 or not stored.exists() or not stored.stat().st_size:
            failed = ended == _FAILED and checkout.is_judged
            raise Unmeasured(_told(checkout, ended, output), failed=failed)
        run = read(stored)
        if not run.entries:
            raise Unmeasured(_told(checkout, ended, output))
        return run


def _run(checkout: Checkout, stored: Path, log: Path, leave_out: Collection[str]) -> int | None:
    """Return how pytest ended; ``None`` if it took too long."""
    if not checkout.path.is_dir():
        raise UsageError(f"{checkout.path}: there is no such folder, expected a checkout")
    program = shutil.which(checkout.command[0])
    if program is None:
        raise UsageError(f"{checkout.command[0]}: there is no such command, to run pytest with")
    left_out = (f"--deselect={name}" for name in leave_out)
    args = (*checkout.command[1:], *checkout.args, *left_out, f"--benchmark-json={stored}")
    with log.open("wb") as output:
        process = subprocess.Popen(
            (program, *args),
            cwd=checkout.path,
            env=_environment(checkout.path),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(checkout.seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End pytest and what it started, if it still runs."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment in which the checkout's own sources are found before installed ones.

    An installed package may be that of another checkout, so that one would be measured twice.
    """
    own = [str(path) for path in (folder, folder / "src") if path.is_dir()]
    former = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": os.pathsep.join([*own, *([former] if former else [])])}


def _told(checkout: Checkout, ended: int | None, output: str) -> str:
    tail = "\n".join(f"  | {line}" for line in output.rstrip().splitlines()[-_TAIL:])
    return f"{checkout.name} ({checkout.path}): {_why(checkout, ended, output)}\n{tail}"


def _why(checkout: Checkout, ended: int | None, output: str) -> str:
    """Return why a run of pytest is of no use."""
    if ended is None:
        return f"pytest was ended after {checkout.seconds:g} seconds"
    if ended == _FAILED:
        return "tests failed, so that not all was measured"
    for pattern, reason in _REASONS:
        if found := pattern.search(output):
            return f"nothing was timed: {reason or found[1]}"
    if ended == _NO_TESTS:
        return "pytest found no tests"
    if ended != 0:
        return f"pytest ended with {ended}"
    return "nothing was timed: no benchmark ran, or pytest-benchmark is switched off"


def others(names: Collection[str], known: Collection[str]) -> Sequence[str]:
    """Return the names of known benchmarks to leave out, so that those in ``names`` run.

    pytest leaves out whatever begins with a name, so that one that any of ``names`` begins with
    stays in.
    """
    return [name for name in known if not any(wanted.startswith(name) for wanted in names)]
