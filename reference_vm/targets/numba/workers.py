"""Threads that share the work of one large kernel.

They sleep between kernels, so they do not take time from the threads of a BLAS library, as a pool
that spins would. Waking them costs some tens of microseconds: only large kernels are shared.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, final

Part: TypeAlias = Callable[[], None]

_WORTH: Final = 1 << 23
"""Instructions for single elements, from which on a kernel is shared."""


@final
@dataclass
class Workers:
    """A number of threads, the caller's own included; started with the first shared kernel."""

    count: int = 1

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.count - 1, thread_name_prefix="kernel")

    def parts(self, low: int, high: int, steps: int) -> list[tuple[int, int]]:
        """Return ranges that cover low to high: one, or one for each thread if it is worth it."""
        count = min(self.count, high - low) if steps >= _WORTH else 1
        edges = [low + (high - low) * i // max(count, 1) for i in range(count + 1)]
        return list(itertools.pairwise(edges)) or [(low, high)]

    def run(self, parts: Sequence[Part]) -> None:
        """Run all parts and wait for them."""
        others = [self._pool.submit(part) for part in parts[1:]]
        parts[0]()
        for other in others:
            other.result()
