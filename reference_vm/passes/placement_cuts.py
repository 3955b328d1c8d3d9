"""Share units out among devices as cheaply as a minimum cut finds.

`cut` is exact for two devices: each unit stands on the side of one of them, each value is an edge
that costs what it costs to move it, in the direction in which it moves. With more devices, `swap`
lets two at a time exchange their units by such cuts, as long as that makes the plan cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from reference_vm.analysis.max_flow import Network
from reference_vm.passes.placement_problem import Assignment, Problem, Tie
from reference_vm.types import VirtualDevice

_ROUNDS = 8
"""How often every pair of devices may exchange units."""


def cut(
    problem: Problem,
    on: Assignment,
    first: VirtualDevice,
    second: VirtualDevice,
    prices: Mapping[int, Mapping[VirtualDevice, int]] | None = None,
) -> dict[int, VirtualDevice]:
    """Return ``on`` with the units of ``first`` and ``second`` shared out between these two.

    No other way of sharing them out is cheaper; of several, ``first`` gets the most. ``prices`` are
    added to what a unit costs on a device.
    """
    return _Cut(problem, on, first, second, prices or {}).run()


class _Cut:
    """The network: its source side is ``second``, so that the least of it is taken."""

    def __init__(
        self,
        problem: Problem,
        on: Assignment,
        first: VirtualDevice,
        second: VirtualDevice,
        prices: Mapping[int, Mapping[VirtualDevice, int]],
    ) -> None:
        self.problem = problem
        self.on = on
        self.first = first
        self.second = second
        self.prices = prices
        self.network = Network(2)
        self.source, self.sink = 0, 1
        self.nodes = {u: self.network.node() for u, d in on.items() if d in (first, second)}
        costs = [c for unit in problem.units for c in unit.costs.values()]
        moved = sum(problem.transfer(first, d, t.bytes) for t in problem.ties for d in (second,))
        extra = sum(p for by in prices.values() for p in by.values())
        self.infinite = 1 + 8 * (sum(costs) + moved + extra + problem.total(on))

    def run(self) -> dict[int, VirtualDevice]:
        for unit, node in self.nodes.items():
            self._prefer(node, self._price(unit, self.second), self._price(unit, self.first))
        for tie in self.problem.ties:
            self._tie(tie)
        self.network.run(self.source, self.sink)
        side = self.network.source_side(self.source)
        placed = {u: self.second if n in side else self.first for u, n in self.nodes.items()}
        return {**self.on, **placed}

    def _price(self, unit: int, device: VirtualDevice) -> int:
        cost = self.problem.units[unit].costs.get(device)
        if cost is None:
            return self.infinite
        return cost + self.prices.get(unit, {}).get(device, 0)

    def _prefer(self, node: int, on_second: int, on_first: int) -> None:
        """Let ``node`` cost this much on each side; what is the same on both does not matter."""
        least = min(on_second, on_first)
        self.network.edge(node, self.sink, on_second - least)
        self.network.edge(self.source, node, on_first - least)

    def _tie(self, tie: Tie) -> None:
        free = [self.nodes[u] for u in tie.readers if u in self.nodes]
        others = tie.fixed | {self.on[u] for u in tie.readers if u not in self.nodes}
        if tie.maker is not None and tie.maker in self.nodes:
            self._made(tie, self.nodes[tie.maker], free, others)
        elif free:
            self._spread(tie, free, others)

    def _made(
        self, tie: Tie, maker: int, readers: list[int], others: frozenset[VirtualDevice]
    ) -> None:
        """Add a value made by a unit that is shared out: it moves from there to its readers."""
        problem, first, second = self.problem, self.first, self.second
        self._prefer(maker, problem.made(tie, second, others), problem.made(tie, first, others))
        if readers and first not in others:
            gate = self.network.node()
            self.network.edge(maker, gate, problem.transfer(second, first, tie.bytes))
            for reader in readers:
                self.network.edge(gate, reader, self.infinite)
        if readers and second not in others:
            gate = self.network.node()
            self.network.edge(gate, maker, problem.transfer(first, second, tie.bytes))
            for reader in readers:
                self.network.edge(reader, gate, self.infinite)

    def _spread(self, tie: Tie, readers: list[int], others: frozenset[VirtualDevice]) -> None:
        """Add a value that lives elsewhere, or with its readers: it costs by which sides read it.

        With ``f`` the cost, it is ``f(second) + f(first) + k`` if both do, and ``k`` is put on the
        edge between, or taken off both.
        """
        on_first = self._cost(tie, others | {self.first})
        on_second = self._cost(tie, others | {self.second})
        both = self._cost(tie, others | {self.first, self.second})
        shared = both - on_first - on_second
        taken = min(0, shared)
        self._any(readers, on_second + taken, to_sink=True)
        self._any(readers, on_first + taken, to_sink=False)
        if shared > 0:
            self._apart(readers, shared)

    def _cost(self, tie: Tie, need: frozenset[VirtualDevice]) -> int:
        if tie.maker is None:
            return self.problem.spread(tie, need)
        return self.problem.made(tie, self.on[tie.maker], need)

    def _any(self, readers: Iterable[int], cost: int, *, to_sink: bool) -> None:
        """Let ``cost`` be paid once if any reader is on the side that the edge starts from."""
        if cost <= 0:
            return
        gate = self.network.node()
        ends = (gate, self.sink) if to_sink else (self.source, gate)
        self.network.edge(*ends, cost)
        for reader in readers:
            pair = (reader, gate) if to_sink else (gate, reader)
            self.network.edge(*pair, self.infinite)

    def _apart(self, readers: Iterable[int], cost: int) -> None:
        """Let ``cost`` be paid once if readers are on both sides."""
        entry, leaving = self.network.node(), self.network.node()
        self.network.edge(entry, leaving, cost)
        for reader in readers:
            self.network.edge(reader, entry, self.infinite)
            self.network.edge(leaving, reader, self.infinite)


def swap(
    problem: Problem,
    on: Assignment,
    prices: Mapping[int, Mapping[VirtualDevice, int]] | None = None,
) -> dict[int, VirtualDevice]:
    """Return a plan that no exchange between two devices makes cheaper, or nearly so."""
    best = dict(on)
    least = _priced(problem, best, prices)
    for _ in range(_ROUNDS):
        before = least
        for first, second in combinations(problem.candidates, 2):
            plan = cut(problem, best, first, second, prices)
            cost = _priced(problem, plan, prices)
            if cost < least:
                best, least = plan, cost
        if least == before:
            break
    return best


def _priced(
    problem: Problem,
    on: Assignment,
    prices: Mapping[int, Mapping[VirtualDevice, int]] | None,
) -> int:
    return problem.total(on) + sum((prices or {}).get(u, {}).get(d, 0) for u, d in on.items())


def starts(problem: Problem) -> Iterator[dict[int, VirtualDevice]]:
    """Yield the plan of all units on each device."""
    yield from map(problem.alone, problem.candidates)


__all__ = ["cut", "starts", "swap"]
