"""How much memory a process and its descendants hold, as the kernel counts it.

What is resident is counted, not what is reserved: drivers of accelerators reserve hundreds of
gigabytes of addresses that they never use.
"""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def can_be_watched() -> bool:
    """Whether this system says how much memory a process holds."""
    return (_PROC / "self" / "statm").exists()


def resident(process: int) -> int:
    """Return the bytes that a process and its descendants hold; 0 for one that is gone."""
    folder = _PROC / str(process)
    try:
        pages = int((folder / "statm").read_text().split()[1])
        children = [c for task in (folder / "task").iterdir() for c in _children(task)]
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(resident, children))


def descendants(process: int) -> list[int]:
    """Return a process's children and theirs; one whose parent is gone is nobody's descendant."""
    try:
        children = [
            c for task in (_PROC / str(process) / "task").iterdir() for c in _children(task)
        ]
    except OSError:
        return []
    return [*children, *(inner for child in children for inner in descendants(child))]


def _children(task: Path) -> list[int]:
    try:
        return [int(child) for child in (task / "children").read_text().split()]
    except OSError:
        return []
