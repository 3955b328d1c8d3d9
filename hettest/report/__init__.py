"""Reports of a run: text for people, JSON and JUnit for machines."""

from __future__ import annotations

from pathlib import Path

from hettest.errors import UsageError
from hettest.report.content import ReportContent


def write(path: Path, content: ReportContent) -> None:
    """Write the report in the form that the path's ending names: ``.json`` or ``.xml``.

    Raises:
        UsageError: It cannot be written, though it could be when the run began; says why.
    """
    from hettest.report import json_report, junit

    form = json_report if path.suffix == ".json" else junit
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(form.render(content), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the report {path} cannot be written: {error.strerror}") from error


__all__ = ["ReportContent", "write"]
