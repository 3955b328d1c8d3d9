"""Which unrequested operations compute shapes and conditions, and so belong on the host.

An operation with integer or bool results does if all its operands but constants are host facts,
and one at least is, or if the host alone reads its results: as a reshape target, a condition, or an
operand of another such operation. Operations that run on the host by their nature, such as
``shape_to_tensor``, are the seeds (`planning.md` section 2, rule 3). The answer does not depend on
any order: both rules only ever add.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.values import Kind, Operation, Origin, Read, Use
from reference_vm.types import VirtualDevice


def host_operations(
    graph: FunctionValues, free: Collection[int], host: VirtualDevice | None = None
) -> frozenset[int]:
    """Return the operations that run on the host: those ``on_host``, and of ``free`` the others.

    An argument of a function whose parameter lives on ``host`` is read by the host.
    """
    integral = [i for i in free if _is_integral(graph, graph.operations[i])]
    if not integral:
        return frozenset(o.index for o in graph.operations if o.on_host)
    return frozenset(_HostFacts(graph, integral, host).found)


def _is_integral(graph: FunctionValues, operation: Operation) -> bool:
    if operation.kind is Kind.CALL or not operation.results:
        return False
    return not any(graph.values[v].type.dtype.is_float for v in operation.results)


class _HostFacts:
    """Counts, for each operation, what still speaks against its running on the host."""

    def __init__(
        self, graph: FunctionValues, integral: Collection[int], host: VirtualDevice | None
    ) -> None:
        self.graph = graph
        self.host = host
        self.found: set[int] = set()
        self.candidates = frozenset(integral)
        self.facts = {i: graph.operations[i].host_facts for i in integral}
        self.unknown = {i: sum(1 for _ in self._operands(i)) for i in integral}
        self.hosted = dict.fromkeys(integral, 0)
        self.foreign = dict.fromkeys(integral, 0)
        self.readers: dict[int, list[int]] = {i: [] for i in integral}
        self._count_reads()
        self._spread()

    def _operands(self, index: int) -> Iterator[int]:
        """Yield the values that an operation reads, constants left out."""
        operation, values = self.graph.operations[index], self.graph.values
        for value in (*operation.operands, *operation.host_operands):
            if values[value].origin is not Origin.CONSTANT:
                yield value

    def _count_reads(self) -> None:
        """Count who reads the candidates' results; what is returned is read by nobody."""
        values = self.graph.values
        for operation in self.graph.operations:
            for uses, counts in (
                (operation.operands, self.foreign),
                (operation.host_operands, self.hosted),
            ):
                for value in uses:
                    maker = values[value].operation
                    if maker is not None and maker in self.candidates:
                        counts[maker] += 1
                        self.readers[maker].append(operation.index)
        for read in self.graph.other_reads:
            maker = values[read.value].operation
            if maker is not None and maker in self.candidates:
                (self.hosted if self._is_hosts(read) else self.foreign)[maker] += 1

    def _is_hosts(self, read: Read) -> bool:
        if read.use is Use.HOST:
            return True
        return read.use is Use.ARGUMENT and self.host is not None and read.device == self.host

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
        touched = [r for r in self._readers_of(index) if r in self.candidates]
        for reader in touched:
            self.unknown[reader] -= 1
            self.facts[reader] += 1
        return touched

    def _readers_of(self, index: int) -> list[int]:
        if index in self.readers:
            return self.readers[index]
        results = self.graph.operations[index].results
        reads = (r for v in results for r in self.graph.reads_of(v))
        return [r.operation for r in reads if r.operation is not None and r.use is not Use.ARGUMENT]

    def _touch_operands(self, index: int) -> list[int]:
        """Tell the makers of the operands of ``index`` that this reader is the host's."""
        touched = []
        for value in self.graph.operations[index].operands:
            maker = self.graph.values[value].operation
            if maker is not None and maker in self.candidates:
                self.foreign[maker] -= 1
                self.hosted[maker] += 1
                touched.append(maker)
        return touched


__all__ = ["host_operations"]
