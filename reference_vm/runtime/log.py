"""The path log: what a run notes while it runs, and the trace built from it on demand.

An entry is one tuple: a `Template`, which holds all that does not change from run to run, and the
memory that was touched. Buffers in it have given their memory back when the run ends, so a log
keeps no data alive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

from reference_vm.devices.api import Buffer
from reference_vm.runtime.trace import Access, Cause, Record, Trace

LIMIT: Final = 1 << 22
"""Records that a log keeps; of a longer run it keeps the last."""

Use: TypeAlias = tuple[Buffer, int, int]
"""Buffer, offset, bytes."""


@final
@dataclass(frozen=True, slots=True)
class Template:
    """The part of a record that is known before the run."""

    kind: str
    op: str
    device: str | None = None
    """``None``: the device of the memory that was touched."""

    ops: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    read_values: tuple[str | None, ...] = ()
    """The source variable of each read."""

    write_values: tuple[str | None, ...] = ()
    cause: Cause | None = None
    source: str | None = None
    """Where a copy comes from that reads no memory of ours: a caller's array, a constant."""


ALLOC: Final = Template("alloc", "alloc")
FREE: Final = Template("free", "free")


@final
@dataclass(slots=True)
class Timing:
    """When something ran, on its device's own clock."""

    start: int
    duration: int


Uses: TypeAlias = tuple["Use | None", ...]
"""One for each operand; ``None`` for a host value and for one left out."""

Entry: TypeAlias = tuple[Template, Uses, tuple[Use, ...], "Timing | None", "str | None"]
"""Template, reads, writes, times, and for a copy the device it was staged through; a kernel that
was not launched has `SKIPPED` there."""

SKIPPED: Final = "skipped"


@final
class PathLog:
    """The entries of one run, in issue order."""

    __slots__ = ("append", "entries", "limit")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.entries: deque[Entry] = deque(maxlen=limit)
        self.append = self.entries.append

    def trace(self) -> Trace:
        """Return the records; ``truncated`` if the log may have lost some."""
        entries = self.entries.copy()  # at once: another thread may be adding to them
        trace = Trace(_record(i, entry) for i, entry in enumerate(entries))
        trace.truncated = len(entries) >= self.limit
        return trace


def _record(index: int, entry: Entry) -> Record:
    template, reads, writes, timing, note = entry
    record = Record(
        index=index,
        kind=template.kind,
        op=template.op,
        ops=template.ops,
        defines=template.defines,
        device=template.device or str(writes[0][0].device.name),
        reads=_accesses(template.read_values, reads),
        writes=_accesses(template.write_values, writes),
        bytes=sum(length for _, _, length in writes),
        start=timing.start if timing else None,
        duration=timing.duration if timing else None,
        skipped=note == SKIPPED,
    )
    return _as_copy(record, template, note) if template.kind == "copy" else record


def _as_copy(record: Record, template: Template, via: str | None) -> Record:
    source = record.reads[0].device if record.reads else template.source
    payload = sum(use.length for use in record.writes or record.reads)
    return replace(
        record,
        source=source,
        target=record.device,
        cause=template.cause,
        via=via,
        bytes=payload,
    )


def _accesses(values: Sequence[str | None], uses: Uses) -> tuple[Access, ...]:
    named = (*values, *[None] * (len(uses) - len(values)))
    return tuple(
        Access(value, use[0].id, str(use[0].device.name), use[1], use[2])
        for value, use in zip(named, uses, strict=False)
        if use is not None
    )
