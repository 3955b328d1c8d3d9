"""Minimum cuts of a directed network with integer capacities, exact and without recursion.

Dinic's algorithm: `Network.run` sends the greatest flow from source to sink; afterwards
`Network.source_side` says which nodes stand with the source in the minimum cut where these are the
fewest. That cut is unique, whatever the order of the edges.
"""

from __future__ import annotations

from collections import deque
from typing import final


@final
class Network:
    """Nodes ``0 … nodes - 1`` and edges with capacities."""

    def __init__(self, nodes: int) -> None:
        self._edges: list[list[int]] = [[] for _ in range(nodes)]
        self._to: list[int] = []
        self._left: list[int] = []

    def node(self) -> int:
        """Add a node and return its number."""
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, start: int, end: int, capacity: int) -> None:
        """Add an edge; its reverse, at the next number, starts empty."""
        for node, to, left in ((start, end, capacity), (end, start, 0)):
            self._edges[node].append(len(self._to))
            self._to.append(to)
            self._left.append(left)

    def run(self, source: int, sink: int) -> int:
        """Send the greatest flow and return how much it is: the cost of a minimum cut."""
        total = 0
        while True:
            levels = self._levels(source)
            if levels[sink] < 0:
                return total
            nexts = [0] * len(self._edges)
            while (sent := self._augment(source, sink, levels, nexts)) > 0:
                total += sent

    def _levels(self, source: int) -> list[int]:
        """Return each node's distance from ``source`` in the residual network, or -1."""
        levels = [-1] * len(self._edges)
        levels[source] = 0
        pending = deque([source])
        while pending:
            node = pending.popleft()
            for edge in self._edges[node]:
                to = self._to[edge]
                if self._left[edge] and levels[to] < 0:
                    levels[to] = levels[node] + 1
                    pending.append(to)
        return levels

    def _augment(self, source: int, sink: int, levels: list[int], nexts: list[int]) -> int:
        """Send flow along one shortest path; return how much, 0 if there is none left."""
        path: list[int] = []
        node = source
        while node != sink:
            edge = self._advance(node, levels, nexts)
            if edge is not None:
                path.append(edge)
                node = self._to[edge]
                continue
            if not path:
                return 0
            node = self._to[path.pop() ^ 1]
            nexts[node] += 1
        sent = min(self._left[edge] for edge in path)
        for edge in path:
            self._left[edge] -= sent
            self._left[edge ^ 1] += sent
        return sent

    def _advance(self, node: int, levels: list[int], nexts: list[int]) -> int | None:
        edges = self._edges[node]
        while nexts[node] < len(edges):
            edge = edges[nexts[node]]
            if self._left[edge] and levels[self._to[edge]] == levels[node] + 1:
                return edge
            nexts[node] += 1
        return None

    def source_side(self, source: int) -> frozenset[int]:
        """Return the nodes that ``source`` still reaches."""
        return frozenset(n for n, level in enumerate(self._levels(source)) if level >= 0)


__all__ = ["Network"]
