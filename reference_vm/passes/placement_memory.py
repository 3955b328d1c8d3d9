"""How much memory a plan needs on each device at once, by a simple model.

A device holds the constants that it reads from beginning to end. A value takes memory where it
lives from the operator that makes it to the last that reads it, on another device that reads it
from the first reader there to the last; parameters are there from the beginning, results to the
end. Operators run in program order, both arms of a branch one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

from reference_vm.analysis.values import Origin, Use, Value
from reference_vm.ir.nodes import Binding
from reference_vm.passes.placement_problem import Assignment, Problem
from reference_vm.types import VirtualDevice

Span: TypeAlias = tuple[int, int]
"""The first and the last operation between which something is held."""


@final
@dataclass(frozen=True, slots=True)
class Peak:
    """The most that a device holds at once, and the operator at which it does."""

    bytes: int
    binding: Binding | None


def peaks(problem: Problem, on: Assignment) -> dict[VirtualDevice, Peak]:
    """Return the peak of each device that a plan uses."""
    count = len(problem.graph.operations)
    steps: dict[VirtualDevice, list[int]] = {}
    for value in problem.graph.values:
        size = problem.bytes(value.type)
        for device, (first, last) in _held(problem, on, value, count).items():
            changes = steps.setdefault(device, [0] * (count + 1))
            changes[first] += size
            if last + 1 < len(changes):
                changes[last + 1] -= size
    return {device: _peak(problem, changes) for device, changes in steps.items()}


def _peak(problem: Problem, changes: list[int]) -> Peak:
    held, most, at = 0, -1, 0
    for index, change in enumerate(changes):
        held += change
        if held > most:
            most, at = held, index
    operations = problem.graph.operations
    return Peak(most, operations[at].binding if at < len(operations) else None)


def _held(problem: Problem, on: Assignment, value: Value, end: int) -> Mapping[VirtualDevice, Span]:
    """Return where ``value`` takes memory, and from when to when."""
    reads: dict[VirtualDevice, list[int]] = {}
    for device, step in _reads(problem, on, value):
        reads.setdefault(device, []).append(step)
    if value.origin is Origin.CONSTANT:
        return dict.fromkeys(reads, (0, end))
    spans = {device: (min(steps), max(steps)) for device, steps in reads.items()}
    home = _home(problem, on, value, frozenset(reads))
    made = 0 if value.operation is None else value.operation
    last = max((s for steps in reads.values() for s in steps), default=made)
    if value.index in problem.graph.returned:
        last = end
    return {**spans, home: (made, max(made, last))}


def _reads(problem: Problem, on: Assignment, value: Value) -> Iterator[tuple[VirtualDevice, int]]:
    for read in value.reads:
        if read.use is Use.ARGUMENT and read.operation is not None:
            continue
        step = 0 if read.operation is None else read.operation
        if read.use is Use.HOST:
            yield problem.places.host, step
        elif read.operation is not None:
            yield device_of(problem, on, read.operation), step
        elif read.device is not None:
            yield read.device, len(problem.graph.operations)


def device_of(problem: Problem, on: Assignment, operation: int) -> VirtualDevice:
    """Return where an operation runs."""
    unit = problem.unit_of.get(operation)
    return problem.fixed_on[operation] if unit is None else on[unit]


def _home(
    problem: Problem, on: Assignment, value: Value, need: frozenset[VirtualDevice]
) -> VirtualDevice:
    if value.pin is not None:
        return value.pin
    if value.operation is not None:
        return device_of(problem, on, value.operation)
    return problem.home_of_parameter(need)


__all__ = ["Peak", "device_of", "peaks"]
