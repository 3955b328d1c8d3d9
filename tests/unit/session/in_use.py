"""The memory that a session holds."""

from __future__ import annotations

import reference_vm as rv


def in_use(session: rv.Session) -> dict[str, int]:
    """Return the bytes that are in use on each device."""
    return {name: memory.current for name, memory in session.memory().items()}
