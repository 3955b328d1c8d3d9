"""Writing a program to a file."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Protocol, Union, final

from reference_vm.bytecode import serializer
from reference_vm.bytecode.executable import ConstantSlot, Executable, InlineData, WeightFile
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Binding, Constant, Function, Module, Weight
from reference_vm.ir.rewrite import bound, rebuild
from reference_vm.program import container, tensors
from reference_vm.program.container import Part
from reference_vm.program.members import (
    CODE,
    DISTRIBUTION,
    FORMAT,
    KERNELS,
    MANIFEST,
    MODULE,
    VERSION,
    WEIGHTS,
)
from reference_vm.program.tensors import Stored
from reference_vm.runtime.weights import WeightsFolder
from reference_vm.text import print_module
from reference_vm.types import DeviceMap, VirtualDevice
from reference_vm.types import tensors as tensor_types

_INLINE: Final = 64
"""Bytes of a constant that the text of the module shows, at most."""


class Parts(Protocol):
    """What a program consists of, as `program.Program` has it."""

    @property
    def lowered(self) -> Union[Module, str]: ...
    @property
    def executable(self) -> Executable: ...
    @property
    def primitives(self) -> tuple[Function, ...]: ...
    @property
    def device_map(self) -> DeviceMap: ...
    @property
    def executor(self) -> str | None: ...
    @property
    def weights(self) -> WeightsFolder: ...


def save(path: Path, parts: Parts) -> None:
    """Write a program to ``path``, in place of what stood there once all is written.

    Raises:
        CompileError: A weights file is at fault, or the file cannot be written.
    """
    members = members_of(parts)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                container.write(file, members)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise CompileError(catalog.unwritable_program(str(path), reason)) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def members_of(parts: Parts) -> Mapping[str, Iterable[Part]]:
    """Return the members of a program's file.

    Raises:
        CompileError: A weights file is at fault.
    """
    found = _Weights(parts.weights)
    tree = _code(parts, found)
    lowered = parts.lowered
    text = print_module(found.named(lowered)) if isinstance(lowered, Module) else lowered
    members: dict[str, list[Part]] = {
        CODE: [_json(tree)],
        KERNELS: [print_module(kernels_module(parts.primitives)).encode()],
        MODULE: [text.encode()],
        WEIGHTS: list(tensors.dump(found.stored)),
    }
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "writer": writer(),
        "executor": parts.executor,
        "devices": {role: str(device) for role, device in parts.device_map.items()},
        "digests": {name: digest(content) for name, content in members.items()},
    }
    return {MANIFEST: [_json(manifest)], **members}


def code_of(parts: Parts) -> dict[str, Any]:
    """Return the tree of a program's bytecode, as ``code.json`` has it.

    Raises:
        CompileError: A weights file is at fault.
    """
    return _code(parts, _Weights(parts.weights))


def _code(parts: Parts, weights: _Weights) -> dict[str, Any]:
    slots = tuple(map(weights.slot, parts.executable.constants))
    return serializer.to_tree(replace(parts.executable, constants=slots))


def writer() -> str:
    """Return what writes programs here: the package and its version."""
    try:
        return f"{DISTRIBUTION} {version(DISTRIBUTION)}"
    except PackageNotFoundError:
        return DISTRIBUTION


def digest(content: Iterable[Part]) -> str:
    """Return the digest of a member."""
    hashed = hashlib.sha256()
    for part in content:
        hashed.update(part)
    return hashed.hexdigest()


def _json(tree: Any) -> bytes:
    return json.dumps(tree, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def kernels_module(primitives: Iterable[Function]) -> Module:
    """Return the module whose functions ``k0``, ``k1``, … are the primitive functions."""
    functions = tuple(replace(f, name=f"k{i}") for i, f in enumerate(primitives))
    roles: dict[str, VirtualDevice] = {}
    for function in functions:
        for var in (*function.params, *bound(function.body)):
            for leaf in tensor_types(var.type) if var.type is not None else ():
                if leaf.vdevice is not None:
                    roles.setdefault(leaf.vdevice.role, leaf.vdevice)
    return Module(tuple(roles.values()), (), functions)


@final
@dataclass
class _Weights:
    """The elements of a program's constants, each once, under the names of the file."""

    folder: WeightsFolder
    stored: dict[str, Stored] = field(default_factory=dict)
    _names: dict[Stored, str] = field(default_factory=dict)

    def slot(self, slot: ConstantSlot) -> ConstantSlot:
        """Return a constant that names its elements."""
        data = slot.data
        if isinstance(data, InlineData):
            stored = Stored(slot.dtype, slot.shape, data.data)
        else:
            stored = Stored(slot.dtype, slot.shape, self.folder.read(slot, data).tobytes())
            self._external[data.file, data.key] = self._name(stored)
        return replace(slot, data=WeightFile(WEIGHTS, self._name(stored)))

    _external: dict[tuple[str, str], str] = field(default_factory=dict)

    def _name(self, stored: Stored) -> str:
        name = self._names.get(stored)
        if name is None:
            name = self._names[stored] = f"c{len(self.stored)}"
            self.stored[name] = stored
        return name

    def named(self, module: Module) -> Module:
        """Return a module whose large constants name their elements in the file."""
        functions = tuple(
            replace(f, body=rebuild(f.body, self._binding, {})) for f in module.functions
        )
        return replace(module, functions=functions)

    def _binding(self, binding: Binding) -> tuple[Binding]:
        value = binding.value
        name = None
        if isinstance(value, Constant) and len(value.data) > _INLINE:
            name = self._names.get(Stored(value.dtype, value.shape, value.data))
        elif isinstance(value, Weight):
            name = self._external.get((value.file, value.key))
        if name is None:
            return (binding,)
        assert isinstance(value, Constant | Weight)
        weight = Weight(value.dtype, value.shape, WEIGHTS, name, value.packed)
        return (replace(binding, value=weight),)
