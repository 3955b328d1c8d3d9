"""The graph of an explained plan, before it is drawn: boxes of operators, and wires between them.

Operators of one device that follow each other form one box. The *level* of an operator is how often
the longest way to it changes the device; a box is all operators of one device and level, so no two
boxes read each other. A function's parameters and results are boxes of their own, at its ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

from reference_vm.passes.explanation import FunctionPlan, Operator, Residence
from reference_vm.types import VirtualDevice

Place: TypeAlias = tuple[VirtualDevice, int]
"""A device and a level."""


@final
@dataclass(frozen=True, slots=True)
class Box:
    """Operators of one device that follow each other, or the ends of the function there."""

    device: VirtualDevice
    level: int
    kind: str
    """``parameters``, ``operators`` or ``results``."""

    operators: tuple[Operator, ...] = ()
    values: tuple[Residence, ...] = ()
    """Of ``parameters`` and ``results``."""


@final
@dataclass(frozen=True, slots=True)
class Wire:
    """The values that one box reads of another."""

    start: int
    end: int
    values: tuple[Residence, ...]
    crosses: bool
    """Whether they change the device."""

    @property
    def bytes(self) -> int:
        return sum(v.bytes for v in self.values)


@final
@dataclass(frozen=True, slots=True)
class Diagram:
    """One function."""

    name: str
    lanes: tuple[VirtualDevice, ...]
    boxes: tuple[Box, ...]
    """By level, then by lane."""

    wires: tuple[Wire, ...]

    @property
    def levels(self) -> int:
        return 1 + max((b.level for b in self.boxes), default=0)


def diagram(plan: FunctionPlan, order: tuple[VirtualDevice, ...]) -> Diagram:
    """Return the graph of ``plan``, with a lane for each device of ``order`` that it uses."""
    return _Maker(plan, order).run()


class _Maker:
    def __init__(self, plan: FunctionPlan, order: tuple[VirtualDevice, ...]) -> None:
        self.plan = plan
        self.order = order
        self.by_value = {r.value: r for r in plan.residences}
        self.maker = {v: o for o in plan.operators for v in o.makes}
        self.level: dict[int, int] = {}
        for operator in plan.operators:
            self.level[operator.index] = self._level(operator)

    def run(self) -> Diagram:
        boxes = self._boxes()
        lanes = tuple(d for d in self.order if any(b.device == d for b in boxes))
        boxes.sort(key=lambda b: (b.level, lanes.index(b.device)))
        return Diagram(self.plan.name, lanes, tuple(boxes), self._wires(boxes))

    def origin(self, value: int) -> Residence:
        """Return the value that ``value`` is, or is moved from."""
        found = self.by_value[value]
        while found.moved_from is not None:
            found = self.by_value[found.moved_from]
        return found

    def _level(self, operator: Operator) -> int:
        level = 1
        for value in operator.reads:
            maker = self.maker.get(self.origin(value).value)
            if maker is not None:
                crossed = maker.device != operator.device
                level = max(level, self.level[maker.index] + crossed)
        return level

    def _boxes(self) -> list[Box]:
        found: dict[Place, list[Operator]] = {}
        for operator in self.plan.operators:
            place = (operator.device, self.level[operator.index])
            found.setdefault(place, []).append(operator)
        boxes = [Box(d, level, "operators", tuple(ops)) for (d, level), ops in found.items()]
        parameters = [r for r in self.plan.residences if r.origin == "parameter"]
        last = max(self.level.values(), default=0) + 1
        boxes.extend(self._ends(0, "parameters", {r.value: r.device for r in parameters}))
        boxes.extend(self._ends(last, "results", self._returned()))
        return boxes

    def _returned(self) -> Mapping[int, VirtualDevice]:
        moved = {t.value: t.target for t in self.plan.transfers if t.cause == "result"}
        return {v: moved.get(v, self.by_value[v].device) for v in self.plan.returned}

    def _ends(self, level: int, kind: str, on: Mapping[int, VirtualDevice]) -> list[Box]:
        boxes = []
        for device in dict.fromkeys(on.values()):
            values = tuple(self.by_value[v] for v, place in on.items() if place == device)
            boxes.append(Box(device, level, kind, values=values))
        return boxes

    def _wires(self, boxes: list[Box]) -> tuple[Wire, ...]:
        makers: dict[int, int] = {}
        for index, box in enumerate(boxes):
            made = [v for o in box.operators for v in o.makes]
            if box.kind == "parameters":
                made = [r.value for r in box.values]
            makers.update(dict.fromkeys(made, index))
        found: dict[tuple[int, int], dict[int, Residence]] = {}
        for end, box in enumerate(boxes):
            for value in self._read(box):
                origin = self.origin(value)
                start = makers.get(origin.value)
                if start is not None and start != end:
                    found.setdefault((start, end), {})[origin.value] = origin
        return tuple(
            Wire(start, end, tuple(values.values()), boxes[start].device != boxes[end].device)
            for (start, end), values in sorted(found.items())
        )

    def _read(self, box: Box) -> list[int]:
        if box.kind == "results":
            return [r.value for r in box.values]
        return [v for o in box.operators for v in o.reads]


__all__ = ["Box", "Diagram", "Wire", "diagram"]
