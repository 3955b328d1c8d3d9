"""Where, in a placed function, each read needs its operand to be.

An operator reads on the device of its result, a host operand and a condition on the host, an arm of
an ``if`` yields where the merged value lives. A `Want` is such a read of a value that lives
elsewhere; `Wants` says which of them a block makes for certain, and which it may make, so that
copies can stand above a branch exactly when no path makes one for nothing
(`planning.md` section 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.values import MOVES, Means, Origin, Read, Use, operand_reads
from reference_vm.ir.nodes import Alias, Binding, Block, Call, If, MakeTuple, Project, Var
from reference_vm.types import TensorType, VirtualDevice, leaves


@final
@dataclass(frozen=True, slots=True)
class Demand:
    """One read: the faces that are read, and where each has to be."""

    faces: tuple[int, ...]
    devices: tuple[VirtualDevice, ...]
    cause: str
    """``read``, ``host`` or ``explicit``."""


def devices_of(var: Var) -> tuple[VirtualDevice, ...]:
    """Return the device of each leaf of a placed variable."""
    assert var.type is not None
    found = tuple(leaf.vdevice for leaf in leaves(var.type))
    placed = tuple(device for device in found if device is not None)
    assert len(placed) == len(found), f"%{var.name} is not placed yet"
    return placed


def demands(binding: Binding, graph: FunctionValues, host: VirtualDevice) -> Iterator[Demand]:
    """Yield what ``binding`` reads and where it needs it; what its blocks read is not included."""
    value, faces_of = binding.value, graph.faces_of
    if isinstance(value, Call):
        yield from _call_demands(binding, value, graph, host)
    elif isinstance(value, If):
        yield Demand(faces_of[value.condition], (host,), "host")
    elif isinstance(value, Alias):
        yield Demand(faces_of[value.var], devices_of(binding.var), "read")
    elif isinstance(value, Project):
        yield Demand(graph.projected(value), devices_of(binding.var), "read")
    elif isinstance(value, MakeTuple):
        faces = tuple(f for item in value.items for f in faces_of[item])
        yield Demand(faces, devices_of(binding.var), "read")


def _call_demands(
    binding: Binding, call: Call, graph: FunctionValues, host: VirtualDevice
) -> Iterator[Demand]:
    means = MOVES.get(call.op)
    if means is Means.COPY:
        return
    here = devices_of(binding.var)[:1] or (host,)
    for var, on_host in operand_reads(call, graph.ops[call.op]):
        faces = graph.faces_of[var]
        cause = "explicit" if means is Means.FIXED else "read"
        yield Demand(faces, (host,), "host") if on_host else Demand(faces, here, cause)


def device_of_read(read: Read, graph: FunctionValues, host: VirtualDevice) -> VirtualDevice | None:
    """Return where ``read`` needs its value, in a placed function; ``None``: wherever it is."""
    if read.use is Use.HOST:
        return host
    if read.operation is None:
        return None if read.means is Means.COPY else read.device
    results = graph.operations[read.operation].results
    return graph.values[results[0]].pin if results else host


Want: TypeAlias = tuple[int, VirtualDevice]
"""A value that is read on a device where it does not live."""


@final
@dataclass(frozen=True, slots=True)
class First:
    """The first read that makes a want."""

    cause: str
    binding: Binding | None
    face: int


@final
@dataclass(slots=True)
class Wants:
    """What one block wants, the blocks inside included."""

    certain: dict[Want, int] = field(default_factory=dict)
    """What every path through the block reads, with the last statement that reads it so."""

    possible: dict[Want, First] = field(default_factory=dict)
    """What some path reads."""

    arms: dict[Var, tuple[Wants, Wants]] = field(default_factory=dict)
    """What the arms of each ``if``, by the variable that it binds, want."""


class WantFinder:
    """Finds what blocks want, in a placed function."""

    def __init__(self, graph: FunctionValues, host: VirtualDevice) -> None:
        self.graph = graph
        self.host = host

    def block(self, block: Block, end: Demand, reader: Binding | None) -> Wants:
        """Return what ``block`` wants; ``end`` is the read of its result, by ``reader``."""
        wants = Wants()
        satisfied: set[Want] = set()
        index = 0
        for index, binding in enumerate(block.bindings()):
            for demand in demands(binding, self.graph, self.host):
                self._add(wants, satisfied, demand, index, binding)
            if isinstance(binding.value, If):
                self._if(wants, satisfied, binding, binding.value, index)
            satisfied |= set(self._explicit(binding))
        self._add(wants, satisfied, end, index + 1, reader)
        return wants

    def _add(
        self,
        wants: Wants,
        satisfied: set[Want],
        demand: Demand,
        index: int,
        reader: Binding | None,
    ) -> None:
        for face, device in zip(demand.faces, demand.devices, strict=True):
            want = self.want(face, device)
            if want is None or want in satisfied:
                continue
            wants.possible.setdefault(want, First(demand.cause, reader, face))
            wants.certain[want] = index

    def want(self, face: int, device: VirtualDevice) -> Want | None:
        """Return the want that reading ``face`` on ``device`` makes, if it has to be moved."""
        value = self.graph.values[self.graph.faces[face].value]
        if value.pin == device or value.origin is Origin.CONSTANT:
            return None
        return (value.index, device)

    def _if(
        self, wants: Wants, satisfied: set[Want], binding: Binding, value: If, index: int
    ) -> None:
        devices = devices_of(binding.var)
        then, orelse = (
            self.block(arm, Demand(self.graph.faces_of[arm.result], devices, "read"), binding)
            for arm in (value.then, value.orelse)
        )
        wants.arms[binding.var] = (then, orelse)
        for want, first in (*then.possible.items(), *orelse.possible.items()):
            if want not in satisfied:
                wants.possible.setdefault(want, first)
        for want in then.certain.keys() & orelse.certain.keys():
            if want not in satisfied:
                wants.certain[want] = index

    def _explicit(self, binding: Binding) -> Iterator[Want]:
        """Yield what a ``device_copy`` puts where it may be read from then on."""
        value = binding.value
        if isinstance(value, Call) and MOVES.get(value.op) is Means.COPY:
            (source,) = value.args
            assert isinstance(source, Var)
            assert isinstance(binding.var.type, TensorType)
            want = self.want(self.graph.faces_of[source][0], binding.var.vdevice)
            if want is not None:
                yield want


__all__ = [
    "Demand",
    "First",
    "Want",
    "WantFinder",
    "Wants",
    "demands",
    "device_of_read",
    "devices_of",
]
