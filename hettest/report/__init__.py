"""Reports of a run: text, Markdown and HTML for people, JSON and JUnit for machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hettest.files import cleaned, write_text
from hettest.options import lacking
from hettest.report.content import ReportContent

Form = Callable[[ReportContent, ReportContent | None], str]
"""Makes a report's text of a run, and of a former run that it is to be compared with."""


def _json(content: ReportContent, former: ReportContent | None = None) -> str:
    from hettest.report import json_report

    return json_report.render(cleaned(content))


def _junit(content: ReportContent, former: ReportContent | None = None) -> str:
    from hettest.report import junit

    return junit.render(cleaned(content))


def _markdown(content: ReportContent, former: ReportContent | None = None) -> str:
    from hettest.report import markdown

    return markdown.render(cleaned(content), cleaned(former))


def _html(content: ReportContent, former: ReportContent | None = None) -> str:
    from hettest.report import html

    return html.render(cleaned(content), cleaned(former))


FORMATS: Final[Mapping[str, Form]] = {
    ".json": _json,
    ".xml": _junit,
    ".md": _markdown,
    ".html": _html,
}
"""How a report is made, by the ending of its name; `hettest.options.ENDINGS` lists the same.

Each is made of content in which every text is clean: whatever it holds can be shown.
"""


def makeable() -> Mapping[str, Form]:
    """Return the forms that can be made with the packages that are installed."""
    return {ending: form for ending, form in FORMATS.items() if lacking(ending) is None}


def write(path: Path, content: ReportContent, former: ReportContent | None = None) -> None:
    """Write the report in the form that the path's ending names, one of `FORMATS`.

    Raises:
        UsageError: It cannot be written, though it could be when the run began; says why, and a
            former report there is as it was.
    """
    write_text(path, FORMATS[path.suffix](content, former), "the report")


__all__ = ["FORMATS", "Form", "ReportContent", "makeable", "write"]
