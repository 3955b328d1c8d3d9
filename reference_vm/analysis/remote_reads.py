"""Which bindings of a placed function read something that lives on another device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from reference_vm.analysis.locality import Demand, Locality
from reference_vm.ir.nodes import Binding, Block, Call, Function, Var, blocks
from reference_vm.types import VirtualDevice


@final
@dataclass(frozen=True, slots=True)
class RemoteReads:
    """What one function reads from afar."""

    bindings: frozenset[Var]
    """The variables of the bindings that do, leaving out what their blocks read."""

    constants: Mapping[int, tuple[VirtualDevice, ...]]
    """The other devices that read each constant, by its face, in program order."""

    branches: bool
    """Whether any binding holds blocks."""

    result: bool
    """Whether the result is handed over elsewhere."""

    @property
    def none(self) -> bool:
        """Whether nothing has to be moved for sure."""
        return not (self.bindings or self.branches or self.result)


def remote_reads(function: Function, locality: Locality, end: Demand) -> RemoteReads:
    """Return what ``function``, whose result is read as ``end`` says, reads from afar."""
    finder = _Finder(locality)
    finder.block(function.body)
    result = finder.note(end)
    devices = {face: tuple(found) for face, found in finder.constants.items()}
    return RemoteReads(frozenset(finder.remote), devices, finder.branches, result)


class _Finder:
    def __init__(self, locality: Locality) -> None:
        self.locality = locality
        self.faces = locality.faces
        self.constants: dict[int, dict[VirtualDevice, None]] = {}
        self.remote: list[Var] = []
        self.branches = False

    def block(self, block: Block) -> None:
        is_local = self.locality.is_local
        for binding in block.bindings():
            if not is_local(binding):
                self.remote.append(binding.var)
                if self.faces.constants:
                    for demand in self.locality.demands(binding):
                        self.note(demand)
            if type(binding.value) is not Call and blocks(binding.value):
                self._blocks(binding)

    def _blocks(self, binding: Binding) -> None:
        self.branches = True
        for demand in self.locality.yielded(binding):
            self.note(demand)
        for inner in blocks(binding.value):
            self.block(inner)

    def note(self, demand: Demand) -> bool:
        """Say whether ``demand`` is for something elsewhere; remember the constants among that."""
        faces, far = self.faces, False
        for face, device in zip(demand.faces, demand.devices, strict=True):
            if faces.home(face) != device:
                far = True
                if faces.roots[face] in faces.constants:
                    self.constants.setdefault(faces.roots[face], {})[device] = None
        return far


__all__ = ["RemoteReads", "remote_reads"]
