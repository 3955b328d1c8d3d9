"""The report as one HTML page that needs nothing else: no script, font or image from elsewhere.

The page is made of the content alone, so that the same content gives the same page. Python works
out what stands where; the templates beside this file draw it and escape all that a backend wrote.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hettest.errors import UsageError
from hettest.options import lacking
from hettest.report.content import ReportContent
from hettest.report.html.page import context

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES: Final = Path(__file__).with_name("templates")


def render(content: ReportContent, former: ReportContent | None = None) -> str:
    """Return the page's text; with ``former``, also what changed since that run.

    Raises:
        UsageError: The package that fills templates is not installed; says how to.
    """
    style, script = (_read(name) for name in ("page.css", "page.js"))
    template = _environment().get_template("page.html")
    return template.render(
        style=style,
        script=script,
        style_digest=_digest(style),
        script_digest=_digest(script),
        **context(content, former),
    )


def _environment() -> Environment:
    lack = lacking(".html")
    if lack is not None:
        raise UsageError(lack)
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["px"] = _pixels
    return environment


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return what the page's content policy calls the one style or script that it lets in."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _pixels(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


__all__ = ["render"]
