"""Where a function's parameters and results live, as far as a call of it has decided that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from reference_vm.types import VirtualDevice


@final
@dataclass(frozen=True, slots=True)
class Pin:
    """A device that a call decides for a leaf of a parameter."""

    device: VirtualDevice
    pulls: bool
    """Whether the program says that the argument lives there, so that its readers follow it."""


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """What a call decides, for each leaf; what the function itself places is not repeated."""

    params: tuple[Pin | None, ...] = ()
    """Empty: all are left to the function."""

    results: tuple[VirtualDevice | None, ...] = ()
    default: VirtualDevice | None = None
    """For what nothing places in the function; ``None``: the program's."""

    @property
    def is_open(self) -> bool:
        """Whether nothing is decided, as in a call from outside."""
        return not any(self.params) and not any(self.results)

    def param(self, leaf: int) -> Pin | None:
        """Return what is decided for leaf ``leaf`` of the parameters, counted through."""
        return self.params[leaf] if self.params else None

    def result(self, leaf: int) -> VirtualDevice | None:
        """Return what is decided for leaf ``leaf`` of the result."""
        return self.results[leaf] if self.results else None


OPEN = Signature()
"""Nothing is decided: the function is called from outside."""


__all__ = ["OPEN", "Pin", "Signature"]
