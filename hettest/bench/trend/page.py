"""The trends as one HTML page that needs nothing else: no script, font or image from elsewhere.

It wears the style of the report's page. Every graph has its numbers in a table beneath it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final, final

from hettest.bench.trend import words
from hettest.bench.trend.change_points import FEWEST, ChangePoint, change_points
from hettest.bench.trend.drawing import HEIGHT, LEFT, RIGHT, WIDTH, Drawing, draw
from hettest.bench.trend.history import Point, Series

_HERE: Final = Path(__file__).parent


@final
@dataclass(frozen=True, slots=True)
class Trend:
    """One benchmark's history, and where it changed."""

    series: Series
    changes: tuple[ChangePoint, ...]

    @property
    def is_short(self) -> bool:
        """Whether there are too few runs to look for changes."""
        return len(self.series.points) < FEWEST


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One change, in words."""

    benchmark: str
    run: str
    before: str
    after: str
    ratio: str
    verdict: str


def trends(found: Sequence[Series], band: float) -> tuple[Trend, ...]:
    """Return each benchmark with its changes; those that changed come first."""
    every = [Trend(one, change_points([p.value for p in one.points], band)) for one in found]
    return tuple(sorted(every, key=lambda trend: not trend.changes))


def steps(trend: Trend) -> Iterator[Step]:
    """Yield the changes of one benchmark, in words."""
    for change in trend.changes:
        yield Step(
            benchmark=trend.series.title,
            run=words.run(trend.series.points[change.index]),
            before=words.value(trend.series, change.before),
            after=words.value(trend.series, change.after),
            ratio=f"{change.ratio:.2f}x",
            verdict=words.verdict(trend.series, change),
        )


def render(found: Sequence[Trend], runs: int) -> str:
    """Return the page's text; ``runs`` is how many were read.

    Needs jinja2, which the extra ``report`` brings.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    style = _style()
    return environment.get_template("trend.html").render(
        style=style,
        style_digest=_digest(style),
        runs=runs,
        fewest=FEWEST,
        cards=[_Card.of(trend) for trend in found],
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=RIGHT,
    )


@final
@dataclass(frozen=True, slots=True)
class _Card:
    """What the template shows of one benchmark."""

    title: str
    unit: str
    drawing: Drawing
    steps: tuple[Step, ...]
    rows: tuple[tuple[str, str, str, str], ...]
    """Of each run: which it is, its value, its interval, the machine."""

    is_short: bool

    @classmethod
    def of(cls, trend: Trend) -> _Card:
        one = trend.series
        return cls(
            title=one.title,
            unit=one.unit,
            drawing=draw(one, trend.changes),
            steps=tuple(steps(trend)),
            rows=tuple(_row(one, point) for point in one.points),
            is_short=trend.is_short,
        )


def _row(of: Series, point: Point) -> tuple[str, str, str, str]:
    interval = ""
    if point.low is not None and point.high is not None:
        interval = f"{words.value(of, point.low)} to {words.value(of, point.high)}"
    return words.run(point), words.value(of, point.value), interval, point.machine


def _style() -> str:
    base = files("hettest.report.html").joinpath("templates", "page.css")
    own = (_HERE / "trend.css").read_text(encoding="utf-8")
    return base.read_text(encoding="utf-8") + own


def _digest(text: str) -> str:
    """Return what the page's content policy calls the one style that it lets in."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
