"""Which unrequested operations compute shapes and conditions, and so belong on the host.

An operation with integer or bool results does if all its operands but constants are host facts,
and one at least is, or if the host alone reads its results: as a reshape target, a condition, or an
operand of another such operation. Operations that run on the host by their nature, such as
``shape_to_tensor``, are the seeds (`planning.md` section 2, rule 3). The answer does not depend on
any order: both rules only ever add.
"""

from __future__ import annotations

from collections.abc import Collection

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.values import Operation, Origin, Use


def host_operations(graph: FunctionValues, free: Collection[int]) -> frozenset[int]:
    """Return the operations that run on the host: those ``on_host``, and of ``free`` the others."""
    return frozenset(_HostFacts(graph, free).found)


class _HostFacts:
    """Counts, for each operation, what still speaks against its running on the host."""

    def __init__(self, graph: FunctionValues, free: Collection[int]) -> None:
        self.graph = graph
        self.found: set[int] = set()
        self.candidates = {i for i in free if self._is_integral(graph.operations[i])}
        self.facts = {i: graph.operations[i].host_facts for i in self.candidates}
        self.unknown = {i: len(self._operands(graph.operations[i])) for i in self.candidates}
        self.hosted = {i: self._reads(i, host=True) for i in self.candidates}
        self.foreign = {i: self._reads(i, host=False) for i in self.candidates}
        self._spread()

    def _is_integral(self, operation: Operation) -> bool:
        types = [self.graph.values[v].type for v in operation.results]
        return bool(types) and not any(t.dtype.is_float for t in types)

    def _operands(self, operation: Operation) -> list[int]:
        """Return the values that ``operation`` reads, constants left out."""
        values = self.graph.values
        read = [r.value for r in operation.reads]
        return [v for v in read if values[v].origin is not Origin.CONSTANT]

    def _reads(self, index: int, *, host: bool) -> int:
        """Return how many reads of the operation's results are the host's, or are not.

        What the function returns is read by nobody, and so is never for the host alone.
        """
        reads = [
            r for v in self.graph.operations[index].results for r in self.graph.values[v].reads
        ]
        return sum(1 for r in reads if (r.use is Use.HOST) is host)

    def _spread(self) -> None:
        pending = [o.index for o in self.graph.operations if o.on_host]
        pending.extend(i for i in self.candidates if self._is_fact(i))
        while pending:
            index = pending.pop()
            if index in self.found:
                continue
            self.found.add(index)
            pending.extend(i for i in self._touch_readers(index) if self._is_fact(i))
            pending.extend(i for i in self._touch_operands(index) if self._is_fact(i))

    def _is_fact(self, index: int) -> bool:
        if index not in self.candidates:
            return False
        by_operands = self.unknown[index] == 0 and self.facts[index] > 0
        by_readers = self.foreign[index] == 0 and self.hosted[index] > 0
        return by_operands or (by_readers and not self._is_returned(index))

    def _is_returned(self, index: int) -> bool:
        return not self.graph.returned.isdisjoint(self.graph.operations[index].results)

    def _touch_readers(self, index: int) -> list[int]:
        """Tell the readers of ``index`` that one of their operands is a host fact."""
        touched = []
        for result in self.graph.operations[index].results:
            for read in self.graph.values[result].reads:
                reader = read.operation
                if reader is not None and reader in self.candidates:
                    self.unknown[reader] -= 1
                    self.facts[reader] += 1
                    touched.append(reader)
        return touched

    def _touch_operands(self, index: int) -> list[int]:
        """Tell the makers of the operands of ``index`` that this reader is the host's."""
        touched = []
        for read in self.graph.operations[index].reads:
            maker = self.graph.values[read.value].operation
            if maker is not None and maker in self.candidates and read.use is not Use.HOST:
                self.foreign[maker] -= 1
                self.hosted[maker] += 1
                touched.append(maker)
        return touched


__all__ = ["host_operations"]
