"""Where cells live: what data types and functions as values keep (`planning.md` rule 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.passes.homes import Homes
from reference_vm.types import VirtualDevice


@final
class CellPlacer:
    """Places the cells of one function."""

    def __init__(self, homes: Homes) -> None:
        self.homes = homes
        self.graph = homes.graph
        self.places = homes.places

    def pin(self) -> None:
        """Give every cell the pin of those that are one with it."""
        values = self.graph.values
        for members in self.graph.cells.groups():
            pinned = [v for v in members if values[v].pin is not None]
            if not pinned:
                continue
            first = min(pinned, key=lambda v: (values[v].var.name, values[v].index))
            pin = values[first].pin
            for index in members:
                other = values[index].pin
                if other is not None and other != pin:
                    var = values[index].var
                    assert pin is not None
                    problem = catalog.contradicting_placement(
                        var.name, pin.role, other.role, var.span
                    )
                    raise CompileError(problem)
            for index in members:
                values[index].pin = pin

    def place(self, *, wait: bool) -> None:
        """Place the cells that nothing pins: by what is put there, then by who reads it.

        With ``wait``, what else a call makes is left to the function that is called, unless it is
        handed to another.
        """
        open_ = {
            self.graph.cells.root(members[0]): members
            for members in self.graph.cells.groups()
            if self.graph.values[members[0]].pin is None
        }
        if not open_:
            return
        self._spread(open_)
        readers = self.homes.readers([v for members in open_.values() for v in members])
        for root, members in list(open_.items()):
            devices = {d for v in members for d in readers[v]}
            if devices:
                self._settle(open_, root, devices)
        self._spread(open_)
        left = self._left_to_callees() if wait else frozenset()
        for root in [root for root in open_ if root not in left]:
            self._settle(open_, root, (self.places.default,))

    def _left_to_callees(self) -> frozenset[int]:
        """Return the roots of the cells that calls make, each in one place, and are not given."""
        cells, calls = self.graph.cells, self.graph.calls
        made: set[int] = set()
        other = {cells.root(v) for call in calls for v in call.arguments if v in cells}
        for call in calls:
            count = Counter(cells.root(v) for v in call.results if v in cells)
            made.update(count)
            other.update(root for root, times in count.items() if times > 1)
        return frozenset(made - other)

    def _spread(self, open_: dict[int, tuple[int, ...]]) -> None:
        """Place every open cell that something placed is put into, until none is left."""
        cells = self.graph.cells
        while open_:
            found: dict[int, set[VirtualDevice]] = {}
            for value, cell in cells.stored:
                home = self.homes.home(self.graph.values[value])
                if home is not None and cells.root(cell) in open_:
                    found.setdefault(cells.root(cell), set()).add(home)
            if not found:
                return
            for root, devices in found.items():
                self._settle(open_, root, devices)

    def _settle(
        self, open_: dict[int, tuple[int, ...]], root: int, devices: Collection[VirtualDevice]
    ) -> None:
        device = self.places.first(devices)
        for value in open_.pop(root):
            self.homes.known[value] = device


__all__ = ["CellPlacer"]
