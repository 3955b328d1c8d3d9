"""Argument blocks of hand-written kernels: words by name.

The first words are the addresses of the operands and results, then comes the workspace, then what
the kernel names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from reference_vm.targets.numba.assembly import Assembly, Value


def argument_block(words: Sequence[int]) -> Any:
    """Return the words of a block as an array, or as a tuple if some only behave as ints."""
    if all(type(w) is int or isinstance(w, np.integer) for w in words):
        return np.array(words, dtype=np.int64)
    return tuple(words)


@final
@dataclass(frozen=True, slots=True)
class Words:
    """The words of one kind of block."""

    addresses: int
    """Operands and results."""

    names: tuple[str, ...]

    @property
    def workspace(self) -> int:
        """The position of the workspace's address."""
        return self.addresses

    def position(self, name: str) -> int:
        return self.addresses + 1 + self.names.index(name)

    def block(self, **values: int) -> Any:
        """Return a block with these values, which are all that are named; addresses are 0."""
        assert values.keys() == set(self.names), values.keys() ^ set(self.names)
        head = [0] * (self.addresses + 1)
        return argument_block([*head, *(values[n] for n in self.names)])

    def read(self, out: Assembly, name: str) -> Value:
        return out.word(self.position(name))

    def pointer(self, out: Assembly, name: str) -> Value:
        """Return an address that a word holds."""
        return out.word(self.position(name), "ptr")

    def inside(self, out: Assembly, name: str) -> Value:
        """Return the place in the workspace that a word counts bytes to."""
        base = out.word(self.workspace, "ptr")
        return out.at(base, "i8", self.read(out, name))
