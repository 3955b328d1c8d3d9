"""What there is to say of a plan: where each value lives and why, and what forces each transfer.

This is data only. `explain` makes it; the command line draws it as a table, as JSON and as a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from reference_vm.passes.placement_reasons import Rule
from reference_vm.types import VirtualDevice


@final
@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a program says or does, and where that is written."""

    text: str
    line: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Residence:
    """Where one value lives, and why."""

    value: int
    """Unique in the function; transfers and operators refer to it."""

    name: str
    """``main/%x``, or ``%x`` for a variable that a pass made; an item of a tuple is ``main/%t.0``.
    """

    origin: str
    """``parameter``, ``constant``, ``operation`` or ``moved``."""

    made_by: str
    """The operator, or the origin of what no operator makes."""

    device: VirtualDevice
    rule: Rule
    why: Fact
    line: int | None
    """Where the value is made."""

    bytes: int
    """With symbols at their nominal sizes."""

    views: tuple[Fact, ...] = ()
    """The other variables that show it, which have no place of their own, by name."""

    moved_from: int | None = None
    """Of a moved value: the value that it is moved from."""


@final
@dataclass(frozen=True, slots=True)
class Transfer:
    """A copy of one value to one device, and the facts that force it."""

    value: int
    name: str
    source: VirtualDevice
    target: VirtualDevice
    cause: str
    """As in the trace: ``read``, ``host``, ``result``, ``explicit``, ``argument``, ``constant`` or
    ``deliver``."""

    reader: str | None
    """The first reader, as the trace names it: ``main/%d``."""

    made: Fact
    """Why the value is on its device."""

    read: Fact
    """Who first reads it on another."""

    others: tuple[Fact, ...]
    """Who else reads it there."""

    bytes: int


@final
@dataclass(frozen=True, slots=True)
class Cost:
    """What a plan for a contested group moves."""

    bytes: int
    copies: int
    off_default: int
    """Operators off a default device that they might have had."""


@final
@dataclass(frozen=True, slots=True)
class Cut:
    """How a group that several devices pull was shared out, and what else it might have been."""

    operators: Mapping[str, VirtualDevice]
    pulls: tuple[Fact, ...]
    chosen: Cost
    alternatives: Mapping[VirtualDevice, Cost]
    """The cost of all operators on each of the pulling devices."""

    proven: bool
    """Whether no plan costs less."""


@final
@dataclass(frozen=True, slots=True)
class Operator:
    """A node of the graph."""

    index: int
    name: str
    op: str
    device: VirtualDevice
    line: int | None
    reads: tuple[int, ...]
    makes: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class FunctionPlan:
    """The plan of one function, explained."""

    name: str
    residences: tuple[Residence, ...]
    operators: tuple[Operator, ...]
    transfers: tuple[Transfer, ...]
    cuts: tuple[Cut, ...]
    returned: tuple[int, ...]
    """The values that it returns."""

    notes: Mapping[str, str]
    """What passes noted about it: how placement was chosen, and whether that is proven best."""


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a module, explained."""

    devices: tuple[VirtualDevice, ...]
    """In the order of the device map."""

    policy: str
    functions: tuple[FunctionPlan, ...]


__all__ = [
    "Cost",
    "Cut",
    "Fact",
    "FunctionPlan",
    "Operator",
    "Plan",
    "Residence",
    "Transfer",
]
