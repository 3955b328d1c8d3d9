"""Whose memory is whose after a run: arguments and earlier results stay the caller's.

It can be seen only where the arrays are, so it is found out beside the implementation, and told as
numbers: arrays are counted through nested tuples, all arguments in order, all results in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from hettest.backend.nesting import leaves

if TYPE_CHECKING:
    from hettest.backend.protocol import Array, Value


@final
@dataclass(frozen=True, slots=True)
class Ownership:
    """What became of what belongs to the caller."""

    written: frozenset[int]
    """The arguments' arrays that are not what they were: elements, shape or dtype."""

    shared: frozenset[tuple[int, int]]
    """The results' arrays that lie in the memory of an argument's, each with that one."""

    overwritten: frozenset[int] | None = None
    """The arrays of the results of the run before that are not what they were; ``None`` where the
    case wants no run before."""


class TellsOwnership(ABC):
    """An executable whose arrays are in another process, which can be asked for what is there."""

    @abstractmethod
    def ownership(self, *, after_another: bool) -> Ownership:
        """Return what became of the last run's arguments and results by now.

        Args:
            after_another: Whether the results of the run before it are asked for.
        """


_State = tuple[Any, tuple[int, ...], bytes]
"""What is seen of an array: an implementation may give it another dtype or shape, in place."""


def _state(array: Any) -> _State:
    return array.dtype, array.shape, array.tobytes()


@final
@dataclass(frozen=True)
class Kept:
    """The arrays of one run, and what was in them."""

    args: Sequence[Array]
    """The very arrays that the implementation was given."""

    args_were: Sequence[_State]
    results: Sequence[Any]
    """The very arrays that it returned."""

    results_were: Sequence[_State]

    @classmethod
    def of(cls, args: Sequence[Value], before: Sequence[Value], results: Value) -> Kept:
        """Note what a run was given, what was in it before, and what it returned."""
        returned = list(leaves(results))
        return cls(
            list(leaves(tuple(args))),
            [_state(array) for array in leaves(tuple(before))],
            returned,
            [_state(array) for array in returned],
        )


def ownership(run: Kept, earlier: Kept | None = None) -> Ownership:
    """Return what became by now of a run's arguments, and of the results of the earlier run."""
    import numpy as np

    written = (n for n, old in enumerate(run.args_were) if _state(run.args[n]) != old)
    shared = (
        (number, argument)
        for number, result in enumerate(run.results)
        if isinstance(result, np.ndarray)
        for argument, array in enumerate(run.args)
        if np.may_share_memory(result, array)
    )
    overwritten = None
    if earlier is not None:
        pairs = enumerate(zip(earlier.results, earlier.results_were, strict=True))
        overwritten = frozenset(n for n, (now, old) in pairs if _state(now) != old)
    return Ownership(frozenset(written), frozenset(shared), overwritten)
