"""Where the boxes and wires of a plan's graph are drawn: a lane for each device, a row each level.

All lengths are in pixels, from the top left corner. A wire leaves a box at its bottom and enters
one at its top; where boxes stand between, it runs beside its lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.cli.explanation.diagram import Box, Diagram, Wire
from reference_vm.cli.explanation.labels import WIDTH, lines_of, received

LINE: Final = 17
"""The height of a line of text."""

PAD: Final = 10
_CHAR: Final = 7.3
_BOX: Final = round(WIDTH * _CHAR) + 2 * PAD
_GUTTER: Final = 64
_MARGIN: Final = 16
_HEAD: Final = 44
_GAP: Final = 52


@final
@dataclass(frozen=True, slots=True)
class Placed:
    """A box with its place and its text."""

    box: Box
    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...]
    received: tuple[str, ...]
    """What it reads of other devices, one line a wire."""


@final
@dataclass(frozen=True, slots=True)
class Route:
    """The way of a wire: down from its first point to its last."""

    wire: Wire
    points: tuple[tuple[float, float], ...]


@final
@dataclass(frozen=True, slots=True)
class Lane:
    """The column of one device."""

    x: int
    width: int
    title: str


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """A graph, laid out."""

    width: int
    height: int
    lanes: tuple[Lane, ...]
    boxes: tuple[Placed, ...]
    routes: tuple[Route, ...]


def layout(graph: Diagram) -> Layout:
    """Return where everything in ``graph`` is drawn."""
    texts = [_texts(graph, index) for index in range(len(graph.boxes))]
    heights = [_height(lines, inside) for lines, inside in texts]
    tops = _tops(graph, heights)
    boxes = tuple(
        Placed(
            box,
            _lane_x(graph.lanes.index(box.device)) + _GUTTER // 2,
            tops[box.level],
            _BOX,
            heights[index],
            *texts[index],
        )
        for index, box in enumerate(graph.boxes)
    )
    height = max((b.y + b.height for b in boxes), default=_HEAD) + _MARGIN * 2
    lanes = tuple(
        Lane(_lane_x(i), _BOX + _GUTTER, f"{d} · {d.device}") for i, d in enumerate(graph.lanes)
    )
    width = _lane_x(len(lanes)) + _MARGIN
    return Layout(width, height, lanes, boxes, _routes(graph, boxes))


def _lane_x(index: int) -> int:
    return _MARGIN + index * (_BOX + _GUTTER)


def _texts(graph: Diagram, index: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    crossing = [w for w in graph.wires if w.end == index and w.crosses]
    sources = [str(graph.boxes[w.start].device) for w in crossing]
    lines = lines_of(graph.boxes[index], graph.name)
    return tuple(lines), tuple(received(crossing, sources, graph.name))


def _height(lines: Sequence[str], inside: Sequence[str]) -> int:
    return 2 * PAD + LINE * (len(lines) + len(inside)) + (PAD if inside else 0)


def _tops(graph: Diagram, heights: Sequence[int]) -> Mapping[int, int]:
    """Return the top of the row of each level that has boxes."""
    tallest: dict[int, int] = {}
    for box, height in zip(graph.boxes, heights, strict=True):
        tallest[box.level] = max(tallest.get(box.level, 0), height)
    tops, y = {}, _HEAD + _MARGIN
    for level in sorted(tallest):
        tops[level] = y
        y += tallest[level] + _GAP
    return tops


def _routes(graph: Diagram, boxes: Sequence[Placed]) -> tuple[Route, ...]:
    leaving = {i: [w for w in graph.wires if w.start == i] for i in range(len(boxes))}
    entering = {i: [w for w in graph.wires if w.end == i] for i in range(len(boxes))}
    routes = []
    for index, wire in enumerate(graph.wires):
        start, end = boxes[wire.start], boxes[wire.end]
        x1 = _port(start, leaving[wire.start].index(wire), len(leaving[wire.start]))
        x2 = _port(end, entering[wire.end].index(wire), len(entering[wire.end]))
        y1, y2 = start.y + start.height, end.y
        beside = _beside(boxes, start, end, x1, x2, index)
        middle = [(x, y) for x, y in beside if y1 < y < y2]
        routes.append(Route(wire, ((x1, y1), *middle, (x2, y2))))
    return tuple(routes)


def _port(box: Placed, index: int, count: int) -> float:
    return box.x + box.width * (index + 1) / (count + 1)


def _beside(
    boxes: Sequence[Placed], start: Placed, end: Placed, x1: float, x2: float, index: int
) -> Sequence[tuple[float, float]]:
    """Return the points that lead a wire past the boxes between its ends."""
    between = [b for b in boxes if start.y + start.height < b.y < end.y]
    if not between:
        return ()
    top = min(b.y for b in between) - _GAP // 3
    bottom = max(b.y + b.height for b in between) + _GAP // 3
    for x in (x1, x2):
        if not any(b.x <= x <= b.x + b.width for b in between):
            return ((x, top), (x, bottom))
    right = end.x > start.x
    edge = start.x + start.width if right else start.x
    gutter = edge + (1 if right else -1) * (8 + index * 5 % (_GUTTER - 16))
    return ((gutter, top), (gutter, bottom))


__all__ = ["LINE", "PAD", "Lane", "Layout", "Placed", "Route", "layout"]
