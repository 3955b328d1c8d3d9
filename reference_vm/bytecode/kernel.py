"""What the runtime calls to get work done: the contract between targets and runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Kernel(Protocol):
    """A primitive function, compiled for one device kind."""

    @property
    def name(self) -> str:
        """Its own name: ``fused_add_exp``."""
        ...

    @property
    def ops(self) -> tuple[str, ...]:
        """The operators inside, in order."""
        ...

    @property
    def library(self) -> bool:
        """Whether it calls a library (`OpDef.compute`) rather than code made for it."""
        ...

    @property
    def can_fail(self) -> bool:
        """Whether it may report an error that depends on data; if so, it also runs for nothing.

        A kernel that cannot is not called when all its results are empty.
        """
        ...

    def __call__(
        self, xp: Any, inputs: Sequence[Any], outputs: Sequence[Any | None]
    ) -> Sequence[Any]:
        """Compute the results from ``inputs`` and return them, as arrays of namespace ``xp``.

        There is one input for each parameter of the function: an array on the kernel's device, a
        NumPy array for a host operand, or a tuple of ints for a shape value. ``outputs[i]`` is the
        memory to write result ``i`` to, C-contiguous; it is ``None`` when the size was not known,
        and then the result is fresh. Inputs are never written.

        Raises:
            DataError: What only the data could tell went wrong (`diagnostics.DataError`).
        """
        ...
