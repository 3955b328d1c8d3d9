"""The lines of a drawing, as paths of SVG."""

from __future__ import annotations

from collections.abc import Iterable

from hettest.report.html.shapes import BOX_HEIGHT, Box


def lift(start: Box, end: Box, boxes: Iterable[Box]) -> float:
    """Return how far a line within a lane must rise to pass by the boxes between its ends.

    One from a lower row passes below them: what comes back is negative.
    """
    between = (b for b in boxes if b.device == start.device and start.x < b.x < end.x)
    if not any(abs(box.y - end.y) < BOX_HEIGHT for box in between):
        return 0
    return BOX_HEIGHT if start.y <= end.y else -BOX_HEIGHT


def across(start: Box, x: float, y: float, boxes: Iterable[Box]) -> str:
    """Return a path into another lane: straight out of the box, unless another stands there."""
    way = 1 if y > start.y else -1
    column = [box for box in boxes if box.x == start.x and box.device == start.device]
    if any((box.y - start.y) * way > 0 for box in column):
        return curve(start.right, start.y, x, y)
    foot = start.y + way * BOX_HEIGHT / 2
    bend = min(40, abs(x - start.x) / 2)
    ends = (start.x, foot, start.x, foot + (y - foot) * 0.6, x - bend, y, x, y)
    return _path(ends)


def curve(x1: float, y1: float, x2: float, y2: float, rise: float = 0) -> str:
    """Return an SVG path that leaves and arrives level; ``rise`` is in pixels."""
    bend = max(14, min(60, abs(x2 - x1) / 2))
    return _path((x1, y1, x1 + bend, y1 - rise, x2 - bend, y2 - rise, x2, y2))


def _path(ends: Iterable[float]) -> str:
    a, b, c, d, e, f, g, h = (f"{value:.0f}" for value in ends)
    return f"M{a} {b}C{c} {d} {e} {f} {g} {h}"
