"""Calls of functions: which are placed first, and what each decides about the function."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from functools import cached_property
from typing import Protocol, final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.groups import wanted_on
from reference_vm.analysis.signature import Pin, Signature
from reference_vm.analysis.values import FunctionCall, Operation
from reference_vm.ir.trampoline import Steps
from reference_vm.passes.homes import Callee, Homes
from reference_vm.types import VirtualDevice


class Callees(Protocol):
    """Who plans the functions that are called."""

    def callee(self, call: FunctionCall, signature: Signature) -> Steps[Callee | None]:
        """Return the function that ``call``, which decides ``signature``, goes to.

        ``None`` leaves the call open.
        """
        ...


@final
class CallPlacer:
    """Has the functions planned that one function calls."""

    def __init__(self, homes: Homes) -> None:
        self.homes = homes
        self.graph = homes.graph
        self.places = homes.places

    def place(self, callees: Callees) -> Steps[None]:
        """Let each call, when all that it reads is placed, be planned; the first by name first."""
        waiting = _Waiting(self.graph)
        wanted = wanted_on(self.graph) if self.graph.calls else {}
        while (call := waiting.next()) is not None:
            callee: Callee | None = yield callees.callee(call, self._signature(call, wanted))
            if callee is None:
                continue
            self.homes.called[call.operation] = callee
            for leaf, value in enumerate(call.results):
                for one in self._one_with(value):
                    self.homes.known.setdefault(one, callee.result(leaf))

    def _one_with(self, value: int) -> tuple[int, ...]:
        """Return the values that share the place of ``value``."""
        cells = self.graph.cells
        return self._cells[cells.root(value)] if value in cells else (value,)

    @cached_property
    def _cells(self) -> Mapping[int, tuple[int, ...]]:
        cells = self.graph.cells
        return {cells.root(members[0]): members for members in cells.groups()}

    def _signature(self, call: FunctionCall, wanted: Mapping[int, set[VirtualDevice]]) -> Signature:
        """Return what ``call`` decides about the function that it calls."""
        values = self.graph.values
        params: list[Pin | None] = []
        for index in call.arguments:
            home = self.homes.home(values[index])
            pulls = values[index].pin is not None and values[index].pulls
            params.append(None if home is None else Pin(home, pulls))
        results: list[VirtualDevice | None] = []
        for index in call.results:
            home = values[index].pin or (
                self.homes.known.get(index) if index in self.graph.cells else None
            )
            devices = wanted.get(index, set())
            results.append(home or (next(iter(devices)) if len(devices) == 1 else None))
        default = call.binding.request or self.places.default
        return Signature(tuple(params), tuple(results), default)


@final
class _Waiting:
    """The calls of a function in an order that its statements do not decide.

    Of those whose arguments no other waiting call makes, the first by name comes next.
    """

    def __init__(self, graph: FunctionValues) -> None:
        self.calls = {call.operation: call for call in graph.calls}
        self.blocked: dict[int, int] = {}
        self.blocks: dict[int, list[int]] = {}
        for call in graph.calls:
            makers = {graph.values[v].operation for v in call.arguments}
            before = [m for m in makers if m in self.calls and m is not None]
            self.blocked[call.operation] = len(before)
            for maker in before:
                self.blocks.setdefault(maker, []).append(call.operation)
        self.ready = [
            (by_name(graph.operations[i]), i) for i, count in self.blocked.items() if not count
        ]
        heapq.heapify(self.ready)
        self.graph = graph

    def next(self) -> FunctionCall | None:
        """Return the next call, ``None`` when all have been returned."""
        if not self.ready:
            return None
        _, index = heapq.heappop(self.ready)
        for other in self.blocks.get(index, ()):
            self.blocked[other] -= 1
            if not self.blocked[other]:
                heapq.heappush(self.ready, (by_name(self.graph.operations[other]), other))
        return self.calls[index]


def by_name(operation: Operation) -> tuple[str, int]:
    """Return a key that does not depend on the order of statements, if names differ."""
    var = operation.binding.var
    return (var.source or var.name, operation.index)


__all__ = ["CallPlacer", "Callees", "by_name"]
