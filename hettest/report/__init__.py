"""Reports of a run: text for people, JSON and JUnit for machines."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from hettest.errors import UsageError
from hettest.report.content import ReportContent

FORMATS: Final[Mapping[str, str]] = {
    ".json": "hettest.report.json_report",
    ".xml": "hettest.report.junit",
}
"""By the ending of a report's name, the module whose ``render(content)`` makes its text."""


def endings() -> str:
    """Return the endings that a report's name may have, for messages: ``.json or .xml``."""
    *others, last = FORMATS
    return f"{', '.join(others)} or {last}"


def require_known(path: Path, option: str) -> None:
    """Find out whether a report of this name can be written.

    Raises:
        UsageError: Its ending names no form; says which do.
    """
    if path.suffix not in FORMATS:
        raise UsageError(f"{option}={path}: the name must end in {endings()}")


def write(path: Path, content: ReportContent) -> None:
    """Write the report in the form that the path's ending names, one of `FORMATS`.

    Raises:
        UsageError: It cannot be written, though it could be when the run began; says why.
    """
    form = import_module(FORMATS[path.suffix])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(form.render(content), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the report {path} cannot be written: {error.strerror}") from error


__all__ = ["FORMATS", "ReportContent", "endings", "require_known", "write"]
