"""Which reads of values that live elsewhere a block makes for certain, and which it may make.

So that copies can stand above a branch exactly when no path makes one for nothing
(`planning.md` section 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.analysis.locality import Demand, Locality
from reference_vm.analysis.remote_reads import RemoteReads
from reference_vm.analysis.values import COPY
from reference_vm.ir.nodes import Binding, Block, Call, Closure, Var, blocks
from reference_vm.types import VirtualDevice

Want: TypeAlias = tuple[int, VirtualDevice]
"""A root face that is read, maybe through views, on a device where it does not live."""


@final
@dataclass(frozen=True, slots=True)
class First:
    """The first read that makes a want."""

    cause: str
    binding: Binding | None
    face: int


@final
@dataclass(slots=True)
class Wants:
    """What one block wants, the blocks inside included."""

    certain: dict[Want, int] = field(default_factory=dict)
    """What every path through the block reads, with the last statement that reads it so."""

    possible: dict[Want, First] = field(default_factory=dict)
    """What some path reads."""

    inner: dict[Var, tuple[Wants, ...]] = field(default_factory=dict)
    """What the blocks in each binding, by the variable that it binds, want."""


class WantFinder:
    """Finds what blocks want, in a placed function."""

    def __init__(self, locality: Locality, remote: RemoteReads) -> None:
        self.locality = locality
        self.remote = remote
        self.faces = locality.faces

    def block(self, block: Block, end: Demand, reader: Binding | None) -> Wants:
        """Return what ``block`` wants; ``end`` is the read of its result, by ``reader``."""
        wants = Wants()
        if not self.remote.branches:
            return wants  # nothing can be hoisted
        satisfied: set[Want] = set()
        index = 0
        for index, binding in enumerate(block.bindings()):
            if binding.var in self.remote.bindings:
                self._demands(wants, satisfied, index, binding)
            if blocks(binding.value):
                self._blocks(wants, satisfied, index, binding)
            satisfied.update(self._explicit(binding))
        self._add(wants, satisfied, end, index + 1, reader)
        return wants

    def _demands(self, wants: Wants, satisfied: set[Want], index: int, binding: Binding) -> None:
        for demand in self.locality.demands(binding):
            self._add(wants, satisfied, demand, index, binding)

    def _add(
        self,
        wants: Wants,
        satisfied: set[Want],
        demand: Demand,
        index: int,
        reader: Binding | None,
    ) -> None:
        for face, device in zip(demand.faces, demand.devices, strict=True):
            want = self.want(face, device)
            if want is None or want in satisfied:
                continue
            wants.possible.setdefault(want, First(demand.cause, reader, face))
            wants.certain[want] = index

    def want(self, face: int, device: VirtualDevice) -> Want | None:
        """Return the want that reading ``face`` on ``device`` makes, if it has to be moved."""
        root = self.faces.roots[face]
        if root in self.faces.constants or self.faces.home(root) == device:
            return None
        return (root, device)

    def _blocks(self, wants: Wants, satisfied: set[Want], index: int, binding: Binding) -> None:
        inner = tuple(
            self.block(block, end, None if isinstance(binding.value, Closure) else binding)
            for block, end in zip(
                blocks(binding.value), self.locality.yielded(binding), strict=True
            )
        )
        wants.inner[binding.var] = inner
        if isinstance(binding.value, Closure):
            return  # it may never be called
        before = self.faces.before[binding.var]
        for arm in inner:
            for want, first in arm.possible.items():
                if want[0] < before and want not in satisfied:
                    wants.possible.setdefault(want, first)
        for want in inner[0].certain:
            every = all(want in arm.certain for arm in inner)
            if every and want in wants.possible and want not in satisfied:
                wants.certain[want] = index

    def _explicit(self, binding: Binding) -> Iterator[Want]:
        """Yield what a ``device_copy`` puts where it may be read from then on."""
        value = binding.value
        if isinstance(value, Call) and value.op == COPY:
            (source,) = value.args
            assert isinstance(source, Var)
            want = self.want(self.faces.of[source][0], binding.var.vdevice)
            if want is not None:
                yield want


__all__ = ["First", "Want", "WantFinder", "Wants"]
