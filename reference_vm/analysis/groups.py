"""Groups of unrequested operations, and the devices that pull them (`planning.md` rule 4).

Operations that read one another's results form a group; parameters, constants, host reads and
requested operations do not connect. A group is pulled by the pins of the values that it reads and
makes, hints and the function's placed result among them.
"""

from __future__ import annotations

from collections.abc import Collection
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
    sets = UnionFind(len(graph.operations))
    members = sorted(free)
    inside = frozenset(free)
    for index in members:
        for read in graph.operations[index].reads:
            maker = graph.values[read.value].operation
            if maker is not None and maker in inside and read.use is Use.OPERAND:
                sets.union(maker, index)
    found: dict[int, list[int]] = {}
    for index in members:
        found.setdefault(sets.find(index), []).append(index)
    return tuple(
        Group(tuple(group), frozenset(p for i in group for p in pulls(graph, graph.operations[i])))
        for group in found.values()
    )


def pulls(graph: FunctionValues, operation: Operation) -> set[VirtualDevice]:
    """Return the devices that the values read and made by ``operation`` pull it to."""
    found: set[VirtualDevice] = set()
    for read in operation.reads:
        value = graph.values[read.value]
        if read.use is Use.OPERAND and value.pin is not None and value.pulls:
            found.add(value.pin)
    for index in operation.results:
        found |= result_pulls(graph, index)
    return found


def result_pulls(graph: FunctionValues, index: int) -> set[VirtualDevice]:
    """Return the devices that value ``index`` is pinned to, hinted to, or returned on."""
    value = graph.values[index]
    found = {value.pin} if value.pin is not None else set()
    for read in value.reads:
        if read.device is not None and (read.use is Use.RESULT or read.pulls):
            found.add(read.device)
    return found


__all__ = ["Group", "groups", "pulls", "result_pulls"]
