"""The trace: one record per executed instruction, and what each part of it means.

``reads`` and ``writes`` name memory, not values, so residence, liveness and races can be
recomputed from the trace alone. Views make no record. Times of different devices are never
subtracted from one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Access:
    """A use of memory."""

    value: str | None
    """The source variable, ``main/%s``, if there is one."""

    buffer: int
    """Unique per allocation for the life of the process: a reused block is a new buffer."""

    device: str
    offset: int
    length: int
    """Bytes."""


@final
@dataclass(frozen=True, slots=True)
class Cause:
    """Why a copy was made."""

    kind: str
    """``read``, ``host``, ``result``, ``explicit``, ``argument``, ``constant`` or ``deliver``."""

    value: str | None
    """The value moved: ``main/%s``."""

    reader: str | None = None
    """The first reader in program order: ``main/%d``."""

    line: int | None = None
    """The reader's line in the program text."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One executed instruction, in issue order."""

    index: int
    kind: str
    """``kernel``, ``library``, ``copy``, ``alloc``, ``free``, ``shape``, ``builtin``, ``call``,
    ``event`` or ``wait``."""

    op: str
    """The operator or builtin; for a fused kernel its own name."""

    ops: tuple[str, ...] = ()
    """The operators inside, in order; ``(op,)`` when not fused."""

    defines: tuple[str, ...] = ()
    """Every source variable whose operator ran here, fused-away ones included: ``main/%s``."""

    device: str
    """Where the work ran; for a copy, the target."""

    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    bytes: int = 0
    """Of a copy the payload, of alloc and free what was reserved, else what was written."""

    stream: int | None = None
    start: int | None = None
    """Nanoseconds on the device's clock; ``None`` when untimed."""

    duration: int | None = None
    source: str | None = None
    """Copies only: the device copied from."""

    target: str | None = None
    cause: Cause | None = None
    via: str | None = None
    """Copies only: the device the copy was staged through."""

    skipped: bool = False
    """A kernel not launched because its result is empty and it cannot fail."""


class Trace(tuple[Record, ...]):
    """The records of one run."""

    truncated: bool = False
    """Whether records were lost; a check that needs them is then not proven."""
