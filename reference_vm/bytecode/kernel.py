"""What the runtime calls to get work done: the contract between targets and runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, final

Dims: TypeAlias = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One loop of machine code, whose rounds may be divided among threads.

    The code is ``void (int64_t *block, int64_t low, int64_t high)``. It reads all that it needs
    from its block, and does the part of the work from ``low`` to ``high``: any division of the
    whole range into parts, in any order and on any threads, does the same to the bit.
    """

    entry: int
    """The address of the code."""

    block: Any
    """Its argument block, an array of i64, or a tuple where some words are no ints (see
    `Kernel.native`); a caller copies it and fills in the addresses: of the inputs, then of the
    results, in the first words."""

    low: int
    high: int
    work: int
    """About how many instructions on single elements the whole range takes."""

    grain: int = 1
    """Parts begin at ``low`` plus a multiple of this."""

    scratch: int = 0
    """Bytes of memory, aligned to 64, that each part needs for itself."""

    scratch_word: int = 0
    """Where in the block the address of that memory goes; with scratch, each part has a block."""

    workspace_word: int = 0
    """Where in the block the address of the call's workspace goes, if the call has one."""

    fault_word: int = 0
    """Where in the block the code leaves something other than 0 if the data of the operands is bad;
    such a stage has no scratch. Its caller sets it to 0 first, and if it is not when all stages
    have ended, drops the results and has the kernel called, which says what is wrong."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class NativeCall:
    """Machine code for operands of known dims, all of them C-contiguous."""

    inputs: tuple[int, ...]
    """Which of the kernel's inputs the first words of each block hold the addresses of."""

    shapes: tuple[Dims, ...]
    """The dims of the results, whose addresses follow."""

    stages: tuple[Stage, ...]
    """Each begins when the one before has ended."""

    workspace: int = 0
    """Bytes of memory, aligned to 64, that all stages share."""

    owner: object = None
    """What must live as long as this: the code."""


class ShapeFunction(Protocol):
    """Tells the dims of a kernel's results on the host, before it is launched."""

    @property
    def reads(self) -> tuple[bool, ...]:
        """Whether it reads the data of each input; of the others it needs the dims only."""
        ...

    @property
    def is_certain(self) -> bool:
        """Whether operands that have the parameters' types certainly fit one another."""
        ...

    def __call__(self, inputs: Sequence[Dims | Any]) -> Sequence[Dims | None]:
        """Return the dims of each result, ``None`` where only the elements can tell.

        Args:
            inputs: For each input its dims, or a NumPy array where its data is read; a tuple of
                ints for a shape value.

        Raises:
            DataError: The inputs do not fit one another.
        """
        ...


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

    def native(self, inputs: Sequence[Dims | Any]) -> NativeCall | None:
        """Return the kernel as machine code for such inputs; ``None`` if it has no such form.

        A caller may hand over numbers that only behave as ints, and note what is done with them,
        to learn how the result depends on dims. So nothing may be kept by what they are worth, and
        the numbers that it returns may be such numbers too.

        Args:
            inputs: The dims of each tensor; a host operand or a shape value as it is.

        Raises:
            DataError: The dims do not fit one another.
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
