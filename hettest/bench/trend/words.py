"""How trends are worded, in the terminal and on the page."""

from __future__ import annotations

from hettest.bench.trend.change_points import ChangePoint
from hettest.bench.trend.history import Point, Series

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def value(of: Series, number: float) -> str:
    """Return a value with its unit: ``1.3x``, ``12.4 ms``, ``17 MB``."""
    if of.is_paired:
        return f"{number:.3g}x"
    if of.unit != "seconds":
        return f"{number:.4g} {of.unit}".rstrip()
    scale, name = next((unit for unit in _UNITS if number >= unit[0]), _UNITS[-1])
    return f"{number / scale:.3g} {name}"


def verdict(of: Series, change: ChangePoint) -> str:
    """Return what a change is: ``slower`` or ``faster``; of what is no time, better or worse."""
    is_better = (change.ratio > 1) is of.bigger_is_better
    if of.is_paired or of.unit == "seconds":
        return "faster" if is_better else "slower"
    return "better" if is_better else "worse"


def run(point: Point) -> str:
    """Return which run it is: its commit and time, as far as they are known."""
    when = "" if point.when is None else f"{point.when:%Y-%m-%d %H:%M}"
    return ", ".join(part for part in (point.commit, when) if part) or "a run of unknown time"
