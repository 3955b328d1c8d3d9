"""A bar on the terminal for what takes long, if there is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def with_progress(items: Sequence[_T]) -> Iterable[_T]:
    """Return the items, with a bar on the terminal if there is one."""
    if sys.stderr is None or not sys.stderr.isatty():  # None: whoever called closed it
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, "running", console=Console(stderr=True), transient=True)
