"""What every report is made from."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, final

from hettest.files import cleaned
from hettest.outcome import Outcome, Record

if TYPE_CHECKING:
    from hettest.levels.coverage import Coverage
    from hettest.levels.standing import Standing


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

    claims: Sequence[str] = ()
    """The capability words that the backend declares, sorted; empty where that does not matter."""

    unopened: str = ""
    """Why the backend did not open, so that nothing is known of it; else empty."""

    standings: Sequence[Standing] = ()
    """The level reached in each profile; empty if no item of the corpus was run."""

    coverage: Coverage | None = None
    """What was covered; ``None`` if no item of the corpus was run."""

    problems: Sequence[str] = ()
    """What is wrong with the run beside its items: an expired waiver, one that matches nothing."""

    unmet: Sequence[str] = ()
    """What was required of the run and is not so: a level, with what stands in its way."""

    better: Sequence[str] = ()
    """Items that ended better than the lock says, which can be written again."""

    partial: str = ""
    """Why the run is no evidence of conformance, such as that it was of a sample; else empty."""

    in_process: int | None = None
    """How many items were judged in the backend's own process, where it could have changed the
    judge; ``None`` where that was not noted."""

    seed: int | None = None
    """What chose the random parts of the run; ``None`` if nothing was random."""

    environment: Mapping[str, str] | None = None
    """What the run depended on; ``None``: this process."""

    packages: Mapping[str, str] | None = None
    """The SHA-256 of the source of each package at work; ``None``: as they are here."""

    suite: Mapping[str, str] = field(default_factory=dict)
    """Of the corpus that was run: ``version``, ``files`` and the ``sha256`` of all its files."""

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
    return cleaned(found)
