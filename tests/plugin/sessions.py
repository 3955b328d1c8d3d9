"""What tests share that need a run of pytest in a process of its own, whatever ends it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from tests.plugin.conftest import FAKE
from tests.plugin.fork_server import server

ROOT = Path(__file__).parents[2]
USUAL = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", f"--het-backend={FAKE}:Backend")
REPORT = "r.json"


@final
@dataclass(frozen=True)
class Session:
    """How a run ended, and what its report says."""

    code: int
    output: str
    report: Mapping[str, Any] | None
    """``None`` if there is none."""

    @property
    def counts(self) -> dict[str, int]:
        """The outcomes that any item has, and how many."""
        assert self.report is not None, self.output
        return {outcome: count for outcome, count in self.report["counts"].items() if count}

    @property
    def outcomes(self) -> dict[str, str]:
        """The outcome of each item."""
        assert self.report is not None, self.output
        return {item["id"]: item["outcome"] for item in self.report["items"]}

    @property
    def reasons(self) -> set[str]:
        """Why items did not pass."""
        assert self.report is not None, self.output
        return {item["reason"] for item in self.report["items"] if item["reason"]}


def environment(**more: str) -> dict[str, str]:
    """Return the environment of an inner run, which is no worker of the outer one."""
    outer = ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST")
    kept = {name: value for name, value in os.environ.items() if name not in outer}
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**kept, "PYTHONPATH": paths, **more}


def command(devices: str | None, *args: str) -> list[str]:
    named = [] if devices is None else [f"--devices={devices}"]
    return [sys.executable, "-m", "pytest", *named, *USUAL, f"--het-report={REPORT}", *args]


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write a suite of tests; it has a settings file, so that nothing above it counts."""
    for name, text in {"pytest.ini": "[pytest]\n", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def read(folder: Path) -> Mapping[str, Any] | None:
    path = folder / REPORT
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def run(
    folder: Path, *args: str, devices: str | None = "cpu,sim", env: Mapping[str, str] | None = None
) -> Session:
    """Run pytest in ``folder`` and return how that ended."""
    _, _, _, *words = command(devices, *args)
    return Session(*forked(folder, words, env or {}), read(folder))


def forked(folder: Path, args: Sequence[str], env: Mapping[str, str]) -> tuple[int, str]:
    """Run pytest in ``folder``, in a process of its own; return its exit code and output."""
    with tempfile.TemporaryDirectory() as apart:
        output = Path(apart) / "output"
        code = server().run(args, folder, environment(**env), output)
        return code, output.read_text("utf-8", "replace")


def hettest(*args: str) -> list[str]:
    """Return the command line of the kit's own command."""
    code = "from hettest.cli.main import main; main()"
    return [sys.executable, "-c", code, *args]
