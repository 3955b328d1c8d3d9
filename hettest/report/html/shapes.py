"""What a drawing of a run is made of, in pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

BOX_HEIGHT: Final = 20


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
