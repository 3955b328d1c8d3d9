"""The elements of a program's constants: where each lies, when the program is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, final

from reference_vm.bytecode.executable import ConstantSlot, InlineData, WeightFile
from reference_vm.ir.nodes import Binding, Constant, Module, Weight
from reference_vm.ir.rewrite import rebuild
from reference_vm.program.members import GIVEN, WEIGHTS
from reference_vm.program.tensors import Stored
from reference_vm.runtime.weights import WeightsFolder

_INLINE: Final = 64
"""Bytes of a constant that the text of the module shows, at most."""


@final
@dataclass
class Constants:
    """The elements of a program's constants, each once, under the names of the file."""

    folder: WeightsFolder
    given: Mapping[bytes, str] = field(default_factory=lambda: MappingProxyType({}))
    """The names of elements that need not be stored."""

    stored: dict[str, Stored] = field(default_factory=dict)
    """What is stored, by name."""

    _names: dict[Stored, WeightFile] = field(default_factory=dict)
    _external: dict[tuple[str, str], Stored] = field(default_factory=dict)

    def slot(self, slot: ConstantSlot) -> ConstantSlot:
        """Return a constant that names its elements.

        Raises:
            CompileError: A weights file is at fault.
        """
        data = slot.data
        if isinstance(data, InlineData):
            stored = Stored(slot.dtype, slot.shape, data.data)
        else:
            stored = Stored(slot.dtype, slot.shape, self.folder.read(slot, data).tobytes())
            self._external[data.file, data.key] = stored
        return replace(slot, data=self._name(stored))

    def _name(self, stored: Stored) -> WeightFile:
        name = self._names.get(stored)
        if name is None:
            name = self._names[stored] = self._new_name(stored)
        return name

    def _new_name(self, stored: Stored) -> WeightFile:
        given = self.given.get(bytes(stored.data)) if self.given else None
        if given is not None:
            return WeightFile(GIVEN, given)
        name = f"c{len(self.stored)}"
        self.stored[name] = stored
        return WeightFile(WEIGHTS, name)

    def named(self, module: Module) -> Module:
        """Return a module whose large constants name their elements, and that shows the others."""
        functions = tuple(
            replace(f, body=rebuild(f.body, self._binding, {})) for f in module.functions
        )
        return replace(module, functions=functions)

    def _binding(self, binding: Binding) -> tuple[Binding]:
        value = binding.value
        if isinstance(value, Constant):
            stored: Stored | None = Stored(value.dtype, value.shape, value.data)
        elif isinstance(value, Weight):
            stored = self._external.get((value.file, value.key))
        else:
            return (binding,)
        if stored is None or stored not in self._names:
            return (binding,)
        if len(stored.data) <= _INLINE:
            data = bytes(stored.data)
            shown = Constant(stored.dtype, stored.shape, data, packed=value.packed)
            return (replace(binding, value=shown),)
        name = self._names[stored]
        weight = Weight(stored.dtype, stored.shape, name.file, name.key, value.packed)
        return (replace(binding, value=weight),)
