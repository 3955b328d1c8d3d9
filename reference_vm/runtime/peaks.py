"""How much memory a run had in use at most, and how little would have done: read from its trace.

The *peak* counts what was allocated and not given back. The *bound* counts, at each record, the
values that had been written and were still to be read, wherever they lay: no plan that keeps the
order of the work can use less. Both count the bytes that are asked for, as a device does
(`MemoryStatistics`): what it had in use before the run, and the peak, are its own peak. Arguments
that a caller keeps on the host, and constants, are in neither.

What a run gives back after its last work was kept for the caller, and counts as read at the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.devices.api import ALIGNMENT
from reference_vm.runtime.trace import Access, Record

_Change: TypeAlias = tuple[int, int]
"""The place of a record, and by how many bytes the memory grows there."""


@final
@dataclass(frozen=True, slots=True)
class Peak:
    """Of one device, in bytes."""

    planned: int
    """The most that was allocated at once."""

    bound: int
    """The most that was live at once."""

    aligned: tuple[int, int] | None = None
    """Both, in whole multiples of `ALIGNMENT` for each allocation and value, if that is known."""

    def __add__(self, other: Peak) -> Peak:
        """Return the sum of two devices' peaks."""
        aligned = (self._aligned[0] + other._aligned[0], self._aligned[1] + other._aligned[1])
        return Peak(self.planned + other.planned, self.bound + other.bound, aligned)

    @property
    def _aligned(self) -> tuple[int, int]:
        return self.aligned or (self.planned, self.bound)

    @property
    def ratio(self) -> float:
        """How many times the bound the peak is, as allocations are aligned; 1 for no bound."""
        planned, bound = self._aligned
        return planned / bound if bound else 1.0


@final
@dataclass(slots=True)
class _Value:
    """Bytes from their being written to their last being read, by the records' places."""

    offset: int
    length: int
    first: int
    last: int


def peaks(trace: Sequence[Record]) -> Mapping[str, Peak]:
    """Return the peak and the bound of each device that the run allocated memory on."""
    lives = _Lives(_end_of_work(trace))
    held: dict[str, list[_Change]] = defaultdict(list)
    for at, record in enumerate(trace):
        if record.kind in ("alloc", "free"):
            sign = 1 if record.kind == "alloc" else -1
            held[record.device].append((at, sign * record.bytes))
            lives.allocation(at, record)
        else:
            lives.work(at, record)
    used = lives.changes()
    return {d: _peak(held[d], used.get(d, ())) for d in held}


def _peak(held: Sequence[_Change], used: Sequence[_Change]) -> Peak:
    rounded = ([(at, _aligned(n)) for at, n in changes] for changes in (held, used))
    planned, bound = map(_greatest, rounded)
    return Peak(_greatest(held), _greatest(used), (planned, bound))


def _end_of_work(trace: Sequence[Record]) -> int:
    """Return the place of the last record that is not of memory given back."""
    end = len(trace) - 1
    while end >= 0 and (trace[end].kind == "free" or _is_delivery(trace[end])):
        end -= 1
    return end


def _is_delivery(record: Record) -> bool:
    return record.cause is not None and record.cause.kind == "deliver"


def _aligned(nbytes: int) -> int:
    """Return a number of bytes, or of those that go, in whole multiples of `ALIGNMENT`."""
    whole = -(-abs(nbytes) // ALIGNMENT) * ALIGNMENT
    return whole if nbytes >= 0 else -whole


def _greatest(changes: Sequence[_Change]) -> int:
    """Return the greatest sum of the changes up to a place; of one place the falls come first."""
    most = total = 0
    for _, change in sorted(changes):
        total += change
        most = max(most, total)
    return most


@final
@dataclass
class _Lives:
    """The values of a run, gathered record by record."""

    end: int
    devices: dict[int, str] = field(default_factory=dict)
    """Of each buffer that the run allocated."""

    open: dict[int, list[_Value]] = field(default_factory=lambda: defaultdict(list))
    """The values that are in each buffer."""

    over: dict[int, list[_Value]] = field(default_factory=lambda: defaultdict(list))
    """Those that were in it before."""

    def allocation(self, at: int, record: Record) -> None:
        (access,) = record.writes
        if record.kind == "alloc":
            self.devices[access.buffer] = access.device
        elif at > self.end:
            for value in self.open[access.buffer]:
                value.last = self.end

    def work(self, at: int, record: Record) -> None:
        for access in record.reads:
            for value in self._touched(access):
                value.last = at
        for access in record.writes:
            self._write(at, access)

    def _touched(self, access: Access) -> Iterator[_Value]:
        end = access.offset + access.length
        for value in self.open[access.buffer]:
            if value.offset < end and access.offset < value.offset + value.length:
                yield value

    def _write(self, at: int, access: Access) -> None:
        """Begin a value; one that it is written over, element by element, ends before."""
        gone = list(self._touched(access))
        end = access.offset + access.length
        for value in gone:
            self.open[access.buffer].remove(value)
            self.over[access.buffer].append(value)
            if value.last == at and access.offset <= value.offset <= end - value.length:
                value.last = at - 1
        self.open[access.buffer].append(_Value(access.offset, access.length, at, at))

    def changes(self) -> Mapping[str, list[_Change]]:
        """Return, for each device, where its live bytes rise and fall, and by how much."""
        found: dict[str, list[_Change]] = defaultdict(list)
        for buffer, device in self.devices.items():
            for value in (*self.open[buffer], *self.over[buffer]):
                size = value.length
                found[device] += [(value.first, size), (value.last + 1, -size)]
        return found


__all__ = ["Peak", "peaks"]
