"""How much memory the machine lets this process have, in all and still.

In all it is the least of the physical memory, the limits of the control groups that the process is
in (versions 1 and 2), and its own limits (``RLIMIT_AS``, ``RLIMIT_DATA``). What is still left under
each is asked of the system, which lets more be allocated than there is, and ends a process that
then writes to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final, final

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

BOUNDLESS: Final = 1 << 62
"""Bytes; what says that there is no limit says as many, or more."""

RESERVE: Final = 64 << 20
"""Bytes that stay free, for what kernels need for themselves and for Python."""

STEP: Final = 16 << 20
"""Bytes that are taken between two questions to the system, at most."""


@final
@dataclass(frozen=True, slots=True)
class _Version:
    """Where a version of control groups says what."""

    roots: tuple[str, ...]
    limit: str
    used: str
    cached: tuple[str, ...]
    """Lines of ``memory.stat``: what is used only as long as nobody else wants it."""


_ONE: Final = _Version(
    ("sys/fs/cgroup/memory",),
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
)
_TWO: Final = _Version(
    ("sys/fs/cgroup", "sys/fs/cgroup/unified"),
    "memory.max",
    "memory.current",
    ("inactive_file", "active_file"),
)


@final
@dataclass(frozen=True, slots=True)
class _Group:
    """A control group with a limit."""

    folder: Path
    version: _Version
    limit: int

    def left(self) -> int:
        statistics = _table(self.folder / "memory.stat")
        cached = sum(statistics.get(line, 0) for line in self.version.cached)
        return self.limit - (_number(self.folder / self.version.used) or 0) + cached


@final
class Machine:
    """The memory of the machine, for one process. ``root`` is where its files are looked for."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        physical = _physical(root)
        self._groups = tuple(g for g in _groups(root) if g.limit < physical)
        self._own = tuple(_own_limits(physical))
        limits = (*(g.limit for g in self._groups), *(n for n, _ in self._own))
        self.limit = min((physical, *limits))
        """Bytes that the process may have in all; `BOUNDLESS` if that cannot be told."""

        self._taken = 0

    def left(self) -> int:
        """Return the bytes that the process can still have; `BOUNDLESS` if that cannot be told."""
        found = [_kib(self._root / "proc/meminfo").get("MemAvailable", BOUNDLESS)]
        found += [group.left() for group in self._groups]
        if self._own:
            used = _kib(self._root / "proc/self/status")
            found += [limit - used.get(line, 0) for limit, line in self._own]
        return max(0, min(found))

    def has(self, nbytes: int) -> bool:
        """Whether there is fresh memory for so many bytes, which are then taken.

        The system is asked once for each `STEP` bytes.
        """
        taken = self._taken + nbytes
        if taken >= STEP:
            if nbytes + RESERVE > self.left():
                return False
            taken = 0
        self._taken = taken
        return True


def _physical(root: Path) -> int:
    found = _kib(root / "proc/meminfo").get("MemTotal")
    if found is not None:
        return found
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return BOUNDLESS


def _own_limits(physical: int) -> Iterator[tuple[int, str]]:
    """Yield the process's own limits, each with the line of its status that counts against it."""
    if resource is None:
        return
    for which, line in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        limit, _ = resource.getrlimit(which)
        if limit != resource.RLIM_INFINITY and limit < physical:
            yield limit, line


def _groups(root: Path) -> Iterator[_Group]:
    """Yield the control groups of the process that have a limit: its own, and those around it."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        version = _ONE if controllers else _TWO
        inside = PurePosixPath(path).relative_to("/")
        for top in version.roots:
            for folder in (inside, *inside.parents):
                limit = _number(root / top / folder / version.limit)
                if limit is not None:
                    yield _Group(root / top / folder, version, limit)


def _lines(path: Path) -> Sequence[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()


def _number(path: Path) -> int | None:
    """Return the number in a file; ``None`` if there is none."""
    found = "".join(_lines(path)).strip()
    return int(found) if found.isdecimal() else None


def _table(path: Path) -> Mapping[str, int]:
    """Return the numbers of a file whose lines are a name and a number."""
    pairs = (line.split() for line in _lines(path))
    return MappingProxyType({p[0]: int(p[1]) for p in pairs if len(p) == 2 and p[1].isdecimal()})


def _kib(path: Path) -> Mapping[str, int]:
    """Return the sizes in a file whose lines are ``Name:  123 kB``, in bytes."""
    words = (line.replace(":", " ").split() for line in _lines(path))
    return MappingProxyType({w[0]: int(w[1]) << 10 for w in words if w[2:] == ["kB"]})


__all__ = ["BOUNDLESS", "RESERVE", "STEP", "Machine"]
