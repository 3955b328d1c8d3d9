"""Groups of unrequested operations, and the devices that pull them (`planning.md` rule 4).

Operations that read one another's results form a group; parameters, constants, host reads, calls
and requested operations do not connect. A group is pulled by the pins of the values that it reads
and makes, hints and the function's placed result among them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.union_find import UnionFind
from reference_vm.analysis.values import Operation, Use
from reference_vm.types import VirtualDevice


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Connected operations."""

    operations: tuple[int, ...]
    """In program order."""

    pulls: frozenset[VirtualDevice]


def groups(graph: FunctionValues, free: Collection[int]) -> tuple[Group, ...]:
    """Return the groups that the operations of ``free`` form, by their first operation."""
    operations, values = graph.operations, graph.values
    sets = UnionFind(len(operations))
    members = sorted(free)
    inside = bytearray(len(operations))
    for index in members:
        inside[index] = 1
    for index in members:
        for value in operations[index].operands:
            maker = values[value].operation
            if maker is not None and inside[maker]:
                sets.union(maker, index)
    wanted = wanted_on(graph)
    found: dict[int, tuple[list[int], set[VirtualDevice]]] = {}
    for index in members:
        group, devices = found.setdefault(sets.find(index), ([], set()))
        group.append(index)
        _add_pulls(graph, operations[index], wanted, devices)
    return tuple(Group(tuple(group), frozenset(devices)) for group, devices in found.values())


def wanted_on(graph: FunctionValues) -> Mapping[int, set[VirtualDevice]]:
    """Return where values are hinted to, returned, or stored, for each that is."""
    wanted: dict[int, set[VirtualDevice]] = {}
    for read in graph.other_reads:
        device = read.device if read.pulls else None
        if read.use is Use.STORE:
            device = graph.values[read.place].pin
        if device is not None:
            wanted.setdefault(read.value, set()).add(device)
    return wanted


def _add_pulls(
    graph: FunctionValues,
    operation: Operation,
    wanted: Mapping[int, set[VirtualDevice]],
    devices: set[VirtualDevice],
) -> None:
    """Add to ``devices`` those that what ``operation`` reads and makes pulls it to."""
    values = graph.values
    for index in operation.operands:
        value = values[index]
        if value.pin is not None and value.pulls:
            devices.add(value.pin)
    for index in operation.results:
        pin = values[index].pin
        if pin is not None:
            devices.add(pin)
        if index in wanted:
            devices |= wanted[index]


def pulls(graph: FunctionValues, operation: Operation) -> set[VirtualDevice]:
    """Return the devices that the values read and made by ``operation`` pull it to."""
    found: set[VirtualDevice] = set()
    _add_pulls(graph, operation, wanted_on(graph), found)
    return found


def result_pulls(graph: FunctionValues, index: int) -> set[VirtualDevice]:
    """Return the devices that value ``index`` is pinned to, hinted to, stored or returned on."""
    pin = graph.values[index].pin
    return wanted_on(graph).get(index, set()) | ({pin} if pin is not None else set())


__all__ = ["Group", "groups", "pulls", "result_pulls", "wanted_on"]
