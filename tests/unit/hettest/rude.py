"""The small backend, which leaves its process in disorder: for testing isolation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hettest.backend.protocol import Mode, Observation, Options, Program
from tests.unit.hettest import fake_backend


@dataclass
class Rude(fake_backend.Backend):
    """Does to the process, or to the results, what its subclasses say."""

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        return _Executable(super().compile(program, device_map, options), self)

    def spoil(self, results: Any) -> Any:
        return results


@dataclass
class _Executable:
    whole: Any
    backend: Rude

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        seen: Observation = self.whole.run(entry, args)
        return replace(seen, results=self.backend.spoil(seen.results))


class ClosesOutput(Rude):
    def spoil(self, results: Any) -> Any:
        sys.stdout.close()
        sys.stderr.close()
        return results


class TakesOutputAway(Rude):
    def spoil(self, results: Any) -> Any:
        sys.stdout = sys.stderr = None
        return results


class ReturnsTerabytes(Rude):
    def spoil(self, results: Any) -> Any:
        return np.broadcast_to(np.float32(0), (1 << 40,))


class StartsADaemon(Rude):
    """Starts a process with a session of its own; ``daemon`` is the file with its number."""

    def __init__(self, daemon: str) -> None:
        super().__init__()
        self.daemon = daemon

    def spoil(self, results: Any) -> Any:
        command = [sys.executable, "-c", "import time; time.sleep(3600)"]
        started = subprocess.Popen(command, start_new_session=True)
        Path(self.daemon).write_text(str(started.pid))
        return results


class HangsBesideADaemon(StartsADaemon):
    def spoil(self, results: Any) -> Any:
        super().spoil(results)
        while True:
            pass


class ClaimsTooMuch(Rude):
    capabilities = frozenset(f"op:x{number}" for number in range(200_000))
