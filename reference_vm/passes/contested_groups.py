"""Place a group that is pulled to several devices (`planning.md` section 2, rule 6).

Plans compare by bytes moved, then copies, then operators off the default device. Each value that
such an operation reads or makes is a *net*: the operations and devices that hold it. A net that
touches k devices costs k - 1 copies of its bytes. Two devices are a minimum cut, exact; of several
minimum cuts the one that gives most to the default device is taken, which is unique. Three or more
are searched exactly up to `EXACT_LIMIT` operations; beyond that isolating cuts give a plan that is
not proven minimal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.analysis.max_flow import Network
from reference_vm.types import VirtualDevice

EXACT_LIMIT: Final = 12

TRIPS: Final = 16
"""How often what every trip of a loop moves counts against what is moved once."""


@final
@dataclass(frozen=True, slots=True)
class Net:
    """One value: who of the group holds it, and on which devices it is wanted anyway."""

    operations: tuple[int, ...]
    fixed: frozenset[VirtualDevice]
    bytes: int
    times: int = 1
    """How often a copy of it counts: more if each trip of a loop would make it."""


@final
@dataclass(frozen=True, slots=True)
class Contest:
    """A group to be shared out among devices."""

    operations: tuple[int, ...]
    """In an order that the program's statements do not decide."""

    counted: frozenset[int]
    """Those that are operators, and not merges, which cost nothing."""

    devices: tuple[VirtualDevice, ...]
    """Those that pull: the default first if it does, the others in the order of the map."""

    default: VirtualDevice
    nets: tuple[Net, ...]

    @property
    def scale(self) -> int:
        """More than all copies, and than all operators, can add up to."""
        copies = sum(net.times for net in self.nets)
        return 1 + len(self.operations) + copies * len(self.devices)

    def weight(self, net: Net) -> int:
        """Return what one copy of ``net`` costs: bytes before copies before operators."""
        return (net.bytes * self.scale + 1) * self.scale * net.times

    def off_default(self, operation: int, device: VirtualDevice) -> int:
        """Return 1 for an operator placed off a default device that it might have had."""
        pulls = self.default in self.devices
        return int(pulls and device != self.default and operation in self.counted)


@final
@dataclass(frozen=True, slots=True)
class Settlement:
    """Who runs where, and whether no cheaper plan exists."""

    on: Mapping[int, VirtualDevice]
    proven: bool


def settle(contest: Contest) -> Settlement:
    """Return the cheapest plan for ``contest``, or a good one where it is too large to be sure."""
    if len(contest.devices) == 2:
        first, second = contest.devices
        away = _isolated(contest, second)
        return Settlement({o: second if o in away else first for o in contest.operations}, True)
    if len(contest.operations) <= EXACT_LIMIT:
        return Settlement(_Search(contest).run(), True)
    return Settlement(_isolating_cuts(contest), False)


def cost(contest: Contest, on: Mapping[int, VirtualDevice]) -> int:
    """Return what the plan ``on`` costs, as one number that orders plans."""
    total = sum(contest.off_default(o, device) for o, device in on.items())
    for net in contest.nets:
        devices = {on[o] for o in net.operations} | net.fixed
        total += max(0, len(devices) - 1) * contest.weight(net)
    return total


def _isolated(contest: Contest, device: VirtualDevice) -> frozenset[int]:
    """Return the operations with ``device`` in the minimum cut from all other devices.

    Of several such cuts it is the one that leaves the fewest to ``device``.
    """
    network = Network(2)
    here, others = 0, 1
    nodes = {operation: network.node() for operation in contest.operations}
    for operation, node in nodes.items():
        away = max(contest.off_default(operation, d) for d in contest.devices if d != device)
        network.edge(node, others, contest.off_default(operation, device))
        network.edge(here, node, away)
    for net in contest.nets:
        ends = [nodes[o] for o in net.operations]
        ends.extend({here if d == device else others for d in net.fixed & set(contest.devices)})
        _join(network, ends, contest.weight(net))
    network.run(here, others)
    side = network.source_side(here)
    return frozenset(o for o, node in nodes.items() if node in side)


def _join(network: Network, ends: Sequence[int], weight: int) -> None:
    """Let cutting the net with these ends cost ``weight`` once."""
    if len(ends) == 2:
        network.edge(ends[0], ends[1], weight)
        network.edge(ends[1], ends[0], weight)
    elif len(ends) > 2:
        entry, leaving = network.node(), network.node()
        network.edge(entry, leaving, weight)
        for end in ends:
            network.edge(end, entry, weight)
            network.edge(leaving, end, weight)


def _isolating_cuts(contest: Contest) -> dict[int, VirtualDevice]:
    """Cut every device but the most expensive one off; what no cut claims goes to that one."""
    sides = {d: _isolated(contest, d) for d in contest.devices}
    plans = []
    for rest in contest.devices:
        on = dict.fromkeys(contest.operations, rest)
        for device in reversed(contest.devices):
            if device != rest:
                on.update(dict.fromkeys(sides[device], device))
        plans.append(on)
    return min(plans, key=lambda on: cost(contest, on))


class _Search:
    """Tries every plan, and leaves a branch as soon as it costs more than the best one."""

    def __init__(self, contest: Contest) -> None:
        self.contest = contest
        self.best: dict[int, VirtualDevice] = dict.fromkeys(contest.operations, contest.devices[0])
        self.least = cost(contest, self.best)
        self.nets_of: dict[int, list[int]] = {o: [] for o in contest.operations}
        for index, net in enumerate(contest.nets):
            for operation in set(net.operations):
                self.nets_of[operation].append(index)

    def run(self) -> dict[int, VirtualDevice]:
        touched = [set(net.fixed) for net in self.contest.nets]
        spent = sum(
            max(0, len(net.fixed) - 1) * self.contest.weight(net) for net in self.contest.nets
        )
        self._visit(0, {}, touched, spent)
        return self.best

    def _visit(
        self,
        depth: int,
        on: dict[int, VirtualDevice],
        touched: list[set[VirtualDevice]],
        spent: int,
    ) -> None:
        if spent >= self.least:
            return
        if depth == len(self.contest.operations):
            self.least, self.best = spent, dict(on)
            return
        operation = self.contest.operations[depth]
        for device in self.contest.devices:
            added = [i for i in self.nets_of[operation] if device not in touched[i]]
            extra = sum(self.contest.weight(self.contest.nets[i]) for i in added if touched[i])
            extra += self.contest.off_default(operation, device)
            for i in added:
                touched[i].add(device)
            on[operation] = device
            self._visit(depth + 1, on, touched, spent + extra)
            for i in added:
                touched[i].discard(device)


__all__ = ["EXACT_LIMIT", "TRIPS", "Contest", "Net", "Settlement", "cost", "settle"]
