"""Runs items in a spawned process, so that what kills or hangs it ends one item and not the run.

========================  ==========================================================================
in the kit's process      `isolated` judges; `remote` stands for the backend; `process`, `channel`;
                          `introduction` and `observations` are the doors for what comes back
in the backend's process  `serve` and `host`, which never load the judge
in both                   `frames`: what crosses the pipe
========================  ==========================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hettest.isolation.isolated import Isolated

__all__ = ["Isolated"]


def __getattr__(name: str) -> Any:
    if name != "Isolated":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hettest.isolation.isolated import Isolated

    return Isolated
