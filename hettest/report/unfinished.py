"""A file beside a report which says that the run that is to write it has not ended.

A process that is killed, or ended from within by native code, cannot say so itself, and the report
that is there is of an earlier run. The file is written before the first test and removed when the
report has been written.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from hettest.errors import UsageError
from hettest.files import remove, write_text


def marker_of(report: Path) -> Path:
    """Return the file beside a report: ``report.json.unfinished``."""
    return report.with_name(f"{report.name}.unfinished")


def mark(reports: Iterable[Path], started: float) -> None:
    """Write the file beside each report."""
    begun = datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds")
    for report in reports:
        with suppress(UsageError):  # the report cannot be written either, and that will be said
            write_text(marker_of(report), f"{begun}\n")


def unmark(report: Path) -> None:
    """Remove the file beside a report that has been written."""
    with suppress(UsageError):  # it was written in this folder a moment ago
        remove(marker_of(report))


def warning(report: Path) -> str | None:
    """Return what is wrong with a report whose run has not ended, or ``None``."""
    if not report.name:
        return None  # a folder such as ".", of which it will be said that it is no report
    marker = marker_of(report)
    try:
        begun = marker.read_text("utf-8").strip()
    except (OSError, ValueError):
        return None
    return (
        f"{report}: a run that was to write it began at {begun} and has not ended: what is there "
        f"is of an earlier run; to use it all the same, remove {marker}"
    )
