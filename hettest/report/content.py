"""What every report is made from."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, final

from hettest.outcome import Outcome, Record


@final
@dataclass(frozen=True, kw_only=True)
class ReportContent:
    """One finished run."""

    backend: str
    devices: Sequence[str]
    policy: str
    counts: Mapping[Outcome, int]
    records: Sequence[Record]
    """Every selected item, in order."""

    deselected: Mapping[str, int]
    expected: Sequence[str] | None = None
    """The committed list of item ids for these devices; ``None`` if there is none."""

    expected_file: str | None = None
    started: float = 0.0
    """Seconds since the epoch."""

    seconds: float = 0.0
    models: Sequence[Mapping[str, Any]] = ()
    """Real models that were run, one table row each."""

    @property
    def case_ids(self) -> tuple[str, ...]:
        """The conformance items among the records; only those have a level."""
        return tuple(record.id for record in self.records if record.level is not None)


def environment() -> dict[str, str]:
    """Return what the run depended on: versions of Python, the platform and the packages."""
    found = {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
    }
    for package in ("hettest", "numpy", "onnx", "onnxruntime", "numba", "llvmlite"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
