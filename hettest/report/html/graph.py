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
from hettest.report.html.arrivals import Arrival, arrivals, given
from hettest.report.html.lines import across, curve, lift
from hettest.report.html.shapes import Box, Dot, Drawing, Edge, Lane, Sizes
from hettest.report.html.words import transfer_words

MOST: Final = 48
"""Of how many variables and transfers a run is still drawn."""

ROW: Final = 26
PADDING: Final = 14
MARGIN: Final = 58
GAP: Final = 22
_CHARACTER: Final = 6.7
_LONGEST: Final = 14


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
    return _Layout(seen, devices, sizes, arrivals(seen, devices[0] if devices else "")).drawing()


@final
@dataclass
class _Layout:
    seen: Seen
    devices: Sequence[str]
    sizes: Sequence[Sizes]
    arrived: Sequence[Arrival]
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
        waiting = list(self.arrived)
        lying = given(self.seen, self.arrived)
        unread = [a for a in waiting if a.reader is None and a.origin in lying]
        waiting = self._arrive(waiting, unread, lying)
        for name, homes in self.seen.placement.items():
            now = [a for a in waiting if a.reader == name]
            needed = [*(a.origin for a in now), *self.seen.reads.get(name, ())]
            self._give(needed, lying)
            waiting = self._arrive(waiting, now, lying)
            self._column((home, name) for home in homes)
            later = [a for a in waiting if self._follows(a, name)]
            waiting = self._arrive(waiting, later, lying)
        self._arrive(waiting, waiting, lying)

    def _give(self, names: Iterable[str | None], homes: dict[str, str]) -> None:
        """Let what is given stand where it is needed first; it is taken out of ``homes``."""
        now = [name for name in dict.fromkeys(names) if name in homes]
        self._column((homes.pop(name), name) for name in now if name is not None)

    def _follows(self, arrival: Arrival, name: str) -> bool:
        """Whether a copy that nobody reads stands right after its value: no result does."""
        return arrival.reader is None and arrival.origin == name and name not in self.seen.results

    def _arrive(
        self, waiting: list[Arrival], now: list[Arrival], homes: dict[str, str]
    ) -> list[Arrival]:
        self._give((arrival.origin for arrival in now), homes)
        self._column((arrival.target, arrival) for arrival in now)
        return [arrival for arrival in waiting if arrival not in now]

    def _column(self, entries: Iterable[tuple[str, object]]) -> None:
        column = list(entries)
        if column:
            self.columns.append(column)

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
                    if isinstance(entry, Arrival):
                        dots[entry.index] = self._dot(entry, x + width / 2, y)
                    else:
                        box = self._box(str(entry), device, x + width / 2, y)
                        boxes[box.name, device] = box
            x += width + GAP
        return boxes, dots

    def _width(self, entry: object) -> float:
        if isinstance(entry, Arrival):
            return 14 + 3 * len(self._size(entry)[0])
        return 14 + _CHARACTER * len(self._label(str(entry)))

    def _box(self, name: str, device: str, x: float, y: float) -> Box:
        made = "result" if name in self.seen.results else "made"
        kind = made if name in self.seen.placement else "given"
        return Box(name, self._label(name), device, kind, x, y, self._width(name))

    def _dot(self, arrival: Arrival, x: float, y: float) -> Dot:
        label, title = self._size(arrival)
        return Dot(title, label, arrival.target, x, y)

    def _size(self, arrival: Arrival) -> tuple[str, str]:
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
        for arrival in self.arrived:
            dot = dots[arrival.index]
            origin = boxes.get((arrival.origin or "", arrival.source))
            if origin is not None:
                yield Edge("transfer", across(origin, dot.x - 4, dot.y, boxes.values()))
            if arrival.origin is not None:
                copies[arrival.origin, arrival.target] = dot
            reader = boxes.get((arrival.reader or "", arrival.target))
            if reader is not None and not self.seen.reads:
                yield Edge("flow", curve(dot.x + 4, dot.y, reader.left, reader.y))
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
            rise = lift(near, box, boxes.values())
            yield Edge("flow", curve(near.right, near.y, box.left, box.y, rise))
        elif copy is not None and copy.x < box.x:
            yield Edge("flow", curve(copy.x + 4, copy.y, box.left, box.y))
        else:
            yield from (
                Edge("unseen", across(far, box.left, box.y, boxes.values()))
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
