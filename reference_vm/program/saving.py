"""Writing a program to a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from reference_vm.bytecode import serializer
from reference_vm.bytecode.executable import Executable
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Function, Module
from reference_vm.ir.rewrite import bound
from reference_vm.program import container, tensors
from reference_vm.program.constants import Constants
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
from reference_vm.program.replacing import replacing
from reference_vm.runtime.weights import WeightsFolder
from reference_vm.text import print_module
from reference_vm.types import DeviceMap, VirtualDevice
from reference_vm.types import tensors as tensor_types


class Parts(Protocol):
    """What a program consists of, as `program.Program` has it."""

    @property
    def module(self) -> Module: ...
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
        with replacing(path) as file:
            container.write(file, members)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CompileError(catalog.unwritable_program(str(path), reason)) from error


def members_of(
    parts: Parts, given: Mapping[bytes, str] = MappingProxyType({})
) -> Mapping[str, Iterable[Part]]:
    """Return the members of a program's file.

    Constants that are ``given`` are not in it: they are named there, and whoever reads it has them.

    Raises:
        CompileError: A weights file is at fault.
    """
    found = Constants(parts.weights, given)
    tree = _code(parts, found)
    text = print_module(found.named(parts.module))
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
    return _code(parts, Constants(parts.weights))


def _code(parts: Parts, weights: Constants) -> dict[str, Any]:
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
