"""The drawing of one run on several devices: where everything stands, in pixels.

Each device is a lane, and time runs from left to right: each variable in the order in which it was
computed, and before it what the program is given for it. A transfer is an arrow into the lane of
its target, where a dot stands for the copy, with its size; thin lines lead from a value to what
reads it::

    cpu:0 | %a ── %s   %b          ● ── %d
          |             │          │ 16 B
    sim:0 |             └─ ● ── %t ┘
                          16 B
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from hettest.outcome import Seen
from hettest.report.html.words import transfer_words

MOST: Final = 48
"""Of how many variables a run is still drawn."""

ROW: Final = 26
PADDING: Final = 14
MARGIN: Final = 58
GAP: Final = 22
BOX_HEIGHT: Final = 20
_CHARACTER: Final = 6.7
_LONGEST: Final = 14


@final
@dataclass(frozen=True, slots=True)
class Sizes:
    """The bytes of one transfer in several runs that are drawn as one."""

    least: int | None
    most: int | None


@final
@dataclass(frozen=True, slots=True)
class Lane:
    """A device."""

    device: str
    top: float
    height: float


@final
@dataclass(frozen=True, slots=True)
class Box:
    """A value in the lane of a device, by its middle."""

    name: str
    label: str
    device: str
    kind: str
    """``given``, ``made``, or ``result``: made and returned."""

    x: float
    y: float
    width: float

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2


@final
@dataclass(frozen=True, slots=True)
class Dot:
    """What a transfer left in the lane of its target."""

    title: str
    label: str
    device: str
    x: float
    y: float


@final
@dataclass(frozen=True, slots=True)
class Edge:
    """A line from one to another."""

    kind: str
    """``flow``, ``transfer``, or ``unseen``: read on another device, and no transfer is shown."""

    path: str


@final
@dataclass(frozen=True, slots=True)
class Drawing:
    """All that is drawn of one run."""

    width: float
    height: float
    lanes: tuple[Lane, ...]
    boxes: tuple[Box, ...]
    dots: tuple[Dot, ...]
    edges: tuple[Edge, ...]


def draw(seen: Seen, devices: Sequence[str], sizes: Sequence[Sizes]) -> Drawing | None:
    """Return the drawing of a run; ``None`` if nothing or too much is to be drawn.

    Args:
        seen: What was seen of it.
        devices: Of the item, the host first.
        sizes: The bytes of each of its transfers.
    """
    if not seen.placement and not seen.transfers:
        return None
    if len(seen.placement) + len(seen.transfers) > MOST:
        return None
    return _Layout(seen, devices, sizes).drawing()


@final
@dataclass(frozen=True, slots=True)
class _Arrival:
    """One transfer, with what it copied and the first variable for which it was made."""

    index: int
    source: str
    target: str
    origin: str | None
    reader: str | None


@final
@dataclass
class _Layout:
    seen: Seen
    devices: Sequence[str]
    sizes: Sequence[Sizes]
    columns: list[list[tuple[str, object]]] = field(default_factory=list)
    """What stands in each column: its device, and a name with it or an arrival."""

    def drawing(self) -> Drawing:
        self._fill()
        lanes = {lane.device: lane for lane in self._lanes()}
        boxes, dots = self._placed(lanes)
        edges = tuple(self._edges(boxes, dots))
        width = max((b.right for b in boxes.values()), default=MARGIN)
        width = max([width, *(dot.x + 24 for dot in dots.values())]) + GAP
        height = sum(lane.height for lane in lanes.values())
        return Drawing(
            round(width),
            height,
            tuple(lanes.values()),
            tuple(boxes.values()),
            tuple(dots.values()),
            edges,
        )

    def _fill(self) -> None:
        """Fill the columns: each variable after what is given for it and what arrived for it."""
        waiting = self._arrivals()
        given = self._given(waiting)
        unread = [a for a in waiting if a.reader is None and a.origin in given]
        waiting = self._arrive(waiting, unread, given)
        for name, homes in self.seen.placement.items():
            now = [a for a in waiting if a.reader == name]
            needed = [*(a.origin for a in now), *self.seen.reads.get(name, ())]
            self._give(needed, given)
            waiting = self._arrive(waiting, now, given)
            self._column((home, name) for home in homes)
            later = [a for a in waiting if self._follows(a, name)]
            waiting = self._arrive(waiting, later, given)
        self._arrive(waiting, waiting, given)

    def _give(self, names: Iterable[str | None], given: dict[str, str]) -> None:
        """Let what is given stand where it is needed first."""
        now = [name for name in dict.fromkeys(names) if name in given]
        self._column((given.pop(name), name) for name in now if name is not None)

    def _follows(self, arrival: _Arrival, name: str) -> bool:
        """Whether a copy that nobody reads stands right after its value: no result does."""
        return arrival.reader is None and arrival.origin == name and name not in self.seen.results

    def _arrive(
        self, waiting: list[_Arrival], now: list[_Arrival], given: dict[str, str]
    ) -> list[_Arrival]:
        self._give((arrival.origin for arrival in now), given)
        self._column((arrival.target, arrival) for arrival in now)
        return [arrival for arrival in waiting if arrival not in now]

    def _column(self, entries: Iterable[tuple[str, object]]) -> None:
        column = list(entries)
        if column:
            self.columns.append(column)

    def _arrivals(self) -> list[_Arrival]:
        """Return the transfers with their ends; one of a view is of what the view is of."""
        seen, found = self.seen, []
        results = iter(self._far_results())
        for index, transfer in enumerate(seen.transfers):
            reader = self._reader(transfer.value, transfer.reader, transfer.target)
            origin = transfer.value
            if origin is None:
                origin = next(results, None)
            elif origin not in seen.placement and not self._is_read(origin):
                origin = self._behind(reader, transfer.source) or origin
            found.append(_Arrival(index, transfer.source, transfer.target, origin, reader))
        return found

    def _far_results(self) -> list[str]:
        """Return the results that unnamed transfers bring, if it is clear which brings which."""
        unnamed = sum(transfer.value is None for transfer in self.seen.transfers)
        host = self.devices[0]
        far = [r for r in self.seen.results if host not in self.seen.placement.get(r, (host,))]
        return far if len(far) == unnamed else []

    def _reader(self, value: str | None, stated: str | None, target: str) -> str | None:
        """Return the first variable that needs a copy: as stated, else one that reads it there."""
        if stated in self.seen.placement:
            return stated
        there = (n for n, homes in self.seen.placement.items() if target in homes)
        return next((n for n in there if value in self.seen.reads.get(n, ())), None)

    def _is_read(self, name: str) -> bool:
        return any(name in sources for sources in self.seen.reads.values())

    def _behind(self, reader: str | None, source: str) -> str | None:
        """Return the one value on ``source`` that ``reader`` reads, if there is just one."""
        names = self.seen.reads.get(reader or "", ())
        there = [n for n in names if source in self.seen.placement.get(n, ())]
        return there[0] if len(there) == 1 else None

    def _given(self, arrivals: Sequence[_Arrival]) -> dict[str, str]:
        """Return on which device lies what was not computed: where it was sent from, or read."""
        homes: dict[str, str] = {}
        for arrival in arrivals:
            if arrival.origin is not None and arrival.origin not in self.seen.placement:
                homes.setdefault(arrival.origin, arrival.source)
        for name, sources in self.seen.reads.items():
            for source in sources:
                if source not in self.seen.placement:
                    homes.setdefault(source, self.seen.placement[name][0])
        return homes

    def _lanes(self) -> Iterator[Lane]:
        """Yield a lane for each device, as high as its fullest column."""
        rows = Counter(dict.fromkeys(self.devices, 1))
        for column in self.columns:
            for device, count in Counter(device for device, _ in column).items():
                rows[device] = max(rows[device], count)
        top = 0.0
        for device, count in rows.items():
            height = count * ROW + 2 * PADDING
            yield Lane(device, top, height)
            top += height

    def _placed(
        self, lanes: Mapping[str, Lane]
    ) -> tuple[dict[tuple[str, str], Box], dict[int, Dot]]:
        boxes: dict[tuple[str, str], Box] = {}
        dots: dict[int, Dot] = {}
        x: float = MARGIN + GAP
        for column in self.columns:
            width = max(self._width(entry) for _, entry in column)
            for device, rows in _by_device(column).items():
                for row, entry in enumerate(rows):
                    y = _middle(lanes[device], row, len(rows))
                    if isinstance(entry, _Arrival):
                        dots[entry.index] = self._dot(entry, x + width / 2, y)
                    else:
                        box = self._box(str(entry), device, x + width / 2, y)
                        boxes[box.name, device] = box
            x += width + GAP
        return boxes, dots

    def _width(self, entry: object) -> float:
        if isinstance(entry, _Arrival):
            return 14 + 3 * len(self._size(entry)[0])
        return 14 + _CHARACTER * len(self._label(str(entry)))

    def _box(self, name: str, device: str, x: float, y: float) -> Box:
        made = "result" if name in self.seen.results else "made"
        kind = made if name in self.seen.placement else "given"
        return Box(name, self._label(name), device, kind, x, y, self._width(name))

    def _dot(self, arrival: _Arrival, x: float, y: float) -> Dot:
        label, title = self._size(arrival)
        return Dot(title, label, arrival.target, x, y)

    def _size(self, arrival: _Arrival) -> tuple[str, str]:
        sizes = self.sizes[arrival.index]
        return transfer_words(self.seen.transfers[arrival.index], sizes.least, sizes.most)

    def _label(self, name: str) -> str:
        functions = {n.partition("/")[0] for n in self.seen.placement}
        short = name.partition("/")[2] if len(functions) < 2 else name
        short = short or name
        return short if len(short) <= _LONGEST else short[: _LONGEST - 1] + "…"

    def _edges(
        self, boxes: Mapping[tuple[str, str], Box], dots: Mapping[int, Dot]
    ) -> Iterator[Edge]:
        copies: dict[tuple[str, str], Dot] = {}
        for arrival in self._arrivals():
            dot = dots[arrival.index]
            origin = boxes.get((arrival.origin or "", arrival.source))
            if origin is not None:
                yield Edge("transfer", _across(origin, dot.x - 4, dot.y, boxes.values()))
            if arrival.origin is not None:
                copies[arrival.origin, arrival.target] = dot
            if arrival.reader is not None and not self.seen.reads:
                reader = boxes[arrival.reader, self.seen.placement[arrival.reader][0]]
                yield Edge("flow", _curve(dot.x + 4, dot.y, reader.left, reader.y))
        for (name, device), box in boxes.items():
            for source in self.seen.reads.get(name, ()):
                yield from self._read(source, device, box, boxes, copies)

    def _read(
        self,
        source: str,
        device: str,
        box: Box,
        boxes: Mapping[tuple[str, str], Box],
        copies: Mapping[tuple[str, str], Dot],
    ) -> Iterator[Edge]:
        """Yield the line from a value, or its copy on the device, to what reads it there."""
        near = boxes.get((source, device))
        copy = copies.get((source, device))
        if near is not None:
            lift = _lift(near, box, boxes.values())
            yield Edge("flow", _curve(near.right, near.y, box.left, box.y, lift))
        elif copy is not None and copy.x < box.x:
            yield Edge("flow", _curve(copy.x + 4, copy.y, box.left, box.y))
        else:
            yield from (
                Edge("unseen", _across(far, box.left, box.y, boxes.values()))
                for (name, _), far in boxes.items()
                if name == source
            )


def _by_device(column: Iterable[tuple[str, object]]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for device, entry in column:
        found.setdefault(device, []).append(entry)
    return found


def _middle(lane: Lane, row: int, rows: int) -> float:
    """Return where a row of a column stands, all of them around the middle of the lane."""
    return lane.top + lane.height / 2 + (row - (rows - 1) / 2) * ROW


def _lift(start: Box, end: Box, boxes: Iterable[Box]) -> float:
    """Return how far a line within a lane must rise to pass by the boxes between its ends.

    One from a lower row passes below them: what comes back is negative.
    """
    between = (b for b in boxes if b.device == start.device and start.x < b.x < end.x)
    if not any(abs(box.y - end.y) < BOX_HEIGHT for box in between):
        return 0
    return BOX_HEIGHT if start.y <= end.y else -BOX_HEIGHT


def _across(start: Box, x: float, y: float, boxes: Iterable[Box]) -> str:
    """Return a path into another lane: straight out of the box, unless another stands there."""
    way = 1 if y > start.y else -1
    column = [box for box in boxes if box.x == start.x and box.device == start.device]
    if any((box.y - start.y) * way > 0 for box in column):
        return _curve(start.right, start.y, x, y)
    foot = start.y + way * BOX_HEIGHT / 2
    bend = min(40, abs(x - start.x) / 2)
    ends = (start.x, foot, start.x, foot + (y - foot) * 0.6, x - bend, y, x, y)
    return _path(ends)


def _curve(x1: float, y1: float, x2: float, y2: float, lift: float = 0) -> str:
    """Return an SVG path that leaves and arrives level; ``lift`` is in pixels."""
    bend = max(14, min(60, abs(x2 - x1) / 2))
    return _path((x1, y1, x1 + bend, y1 - lift, x2 - bend, y2 - lift, x2, y2))


def _path(ends: Iterable[float]) -> str:
    a, b, c, d, e, f, g, h = (f"{value:.0f}" for value in ends)
    return f"M{a} {b}C{c} {d} {e} {f} {g} {h}"
