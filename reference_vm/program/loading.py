"""Reading a program from a file. The file may come from anywhere: nothing of it is believed.

Members, digests, the tree of the bytecode, every tensor and every kernel are checked, and then the
bytecode as a whole (`bytecode.verifier`). What is wrong is one located error, and nothing of the
file was executed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from reference_vm.bytecode import serializer
from reference_vm.bytecode.codec import FormatError, shown
from reference_vm.bytecode.executable import ConstantSlot, Executable, InlineData, WeightFile
from reference_vm.bytecode.verifier import Verdict
from reference_vm.devices.catalog import describe
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Function
from reference_vm.program import container, tensors
from reference_vm.program.container import ContainerError, NoContainer
from reference_vm.program.kernels import KernelError, read_kernels
from reference_vm.program.members import (
    CODE,
    FORMAT,
    GIVEN,
    KERNELS,
    LARGEST_TEXT,
    MANIFEST,
    MANIFEST_KEYS,
    MEMBERS,
    MODULE,
    VERSION,
    WEIGHTS,
)
from reference_vm.program.memory import memory_problems
from reference_vm.program.program import ModuleText, Program
from reference_vm.program.saving import digest
from reference_vm.program.tensors import TensorsError
from reference_vm.program.wellformed import judged
from reference_vm.targets.catalog import TARGETS
from reference_vm.types import DeviceMap, DeviceName, DType

_LISTED: Final = 8
"""Problems of bytecode that are listed, at most."""


def load(path: Path | str, *, check: bool = False) -> Program:
    """Return the program that `Program.save` wrote, ready for a `Session`. No pass is run.

    With ``check``, its use of memory is followed along every path (`bytecode.memory_check`).

    Raises:
        CompileError: The file cannot be read, is no such program, is damaged, or is of another
            version; or a device that the program needs is not here; or memory is used wrongly.
    """
    program = read(path)
    _check_devices(program)
    found = memory_problems(program) if check else []
    if found:
        reason = "\n  ".join(["memory is used wrongly:", *found[:_LISTED]])
        raise CompileError(catalog.invalid_program(str(path), CODE, reason))
    return program


def read(path: Path | str) -> Program:
    """Return what `load` does, to look at: its devices need not be here.

    Raises:
        CompileError: The file cannot be read, is no such program, is damaged, or is of another
            version.
    """
    try:
        with Path(path).open("rb") as file:
            return read_from(file, str(path))
    except OSError as error:
        reason = error.strerror or str(error)
        raise CompileError(catalog.no_program(str(path), reason)) from error


def read_from(file: BinaryIO, name: str, given: Mapping[str, bytes] | None = None) -> Program:
    """Return the program in an open file that messages call ``name``.

    ``given`` are constants that the file only names; such a file was written by this very package
    on this machine, so it is not judged again.

    Raises:
        CompileError: It is no such program, is damaged, or is of another version.
    """
    try:
        opened = container.opened(file, MEMBERS)
        most = dict.fromkeys(MEMBERS, LARGEST_TEXT) | {WEIGHTS: opened.sizes[WEIGHTS]}
        members = {m: opened.read(m, most[m], checked=m == MANIFEST) for m in MEMBERS}
        return _program(members, given)
    except NoContainer as error:
        raise CompileError(catalog.no_program(name, str(error))) from error
    except ContainerError as error:
        raise CompileError(catalog.invalid_program(name, None, str(error))) from error
    except _Refused as error:
        raise CompileError(catalog.invalid_program(name, error.member, str(error))) from error


class _Refused(Exception):
    """Why a member is not taken."""

    def __init__(self, member: str, reason: str) -> None:
        super().__init__(reason)
        self.member = member


def _program(members: Mapping[str, bytes], given: Mapping[str, bytes] | None) -> Program:
    manifest = _manifest(_json(members, MANIFEST))
    for member, expected in manifest["digests"].items():
        if digest([members[member]]) != expected:
            raise _Refused(member, "it is not what the manifest has the digest of")
    executable = _executable(_json(members, CODE))
    try:
        kernels = read_kernels(_text(members, KERNELS), executable.kernels, given is None)
    except KernelError as error:
        raise _Refused(KERNELS, str(error)) from error
    named, executable = executable, _with_weights(executable, members[WEIGHTS], given or {})
    proven = given is not None or not _judged(executable, kernels).doubts
    return Program(
        _lowered(_text(members, MODULE), named, executable),
        executable,
        kernels,
        DeviceMap.of(manifest["devices"]),
        manifest["executor"],
        proven=proven,
    )


def _json(members: Mapping[str, bytes], member: str) -> Any:
    try:
        return json.loads(_text(members, member))
    except (ValueError, RecursionError) as error:
        raise _Refused(member, "it is not JSON") from error


def _text(members: Mapping[str, bytes], member: str) -> str:
    try:
        return members[member].decode()
    except UnicodeDecodeError as error:
        raise _Refused(member, f"byte {error.start} is not UTF-8 text") from error


def _manifest(tree: Any) -> dict[str, Any]:
    """Return a manifest whose fields are all of their types; ``devices`` is a mapping of names."""
    if type(tree) is not dict or tree.get("format") != FORMAT:
        raise _Refused(MANIFEST, f"found {shown(tree)}, expected the format {FORMAT}")
    if tree.get("version") != VERSION:
        found = f"{shown(tree.get('version'))}, written by {shown(tree.get('writer'))}"
        raise _Refused(MANIFEST, f"found version {found}, expected {VERSION}")
    if tuple(tree) != MANIFEST_KEYS:
        raise _Refused(MANIFEST, f"found the keys {shown([*tree])}, expected {MANIFEST_KEYS}")
    executor, digests = tree["executor"], tree["digests"]
    if executor is not None and (type(executor) is not str or executor not in TARGETS):
        names = ", ".join(TARGETS)
        raise _Refused(MANIFEST, f"executor: found {shown(executor)}, expected {names} or null")
    if type(digests) is not dict or list(digests) != [m for m in MEMBERS if m != MANIFEST]:
        raise _Refused(MANIFEST, f"digests: found {shown(digests)}, expected one for each member")
    return tree | {"devices": _devices(tree["devices"])}


def _devices(tree: Any) -> dict[str, DeviceName]:
    try:
        if type(tree) is dict:
            return {role: DeviceName.parse(device) for role, device in tree.items()}
    except (TypeError, ValueError) as error:
        raise _Refused(MANIFEST, f"devices: {error}") from error
    raise _Refused(MANIFEST, f"devices: found {shown(tree)}, expected an object of devices by role")


def _executable(tree: Any) -> Executable:
    try:
        return serializer.from_tree(tree)
    except FormatError as error:
        raise _Refused(CODE, str(error)) from error


def _with_weights(executable: Executable, content: bytes, given: Mapping[str, bytes]) -> Executable:
    """Return the executable with the elements of its constants inside."""
    expected: dict[str, tuple[DType, tuple[int, ...]]] = {}
    for index, slot in enumerate(executable.constants):
        if isinstance(slot.data, WeightFile) and slot.data.file == GIVEN and slot.data.key in given:
            continue
        if not isinstance(slot.data, WeightFile) or slot.data.file != WEIGHTS:
            raise _Refused(CODE, f"constants[{index}]: expected a tensor of {WEIGHTS}")
        if any(d < 0 for d in slot.shape):
            raise _Refused(CODE, f"constants[{index}]: found the shape {shown([*slot.shape])}")
        if expected.setdefault(slot.data.key, (slot.dtype, slot.shape)) != (slot.dtype, slot.shape):
            raise _Refused(CODE, f"constants[{index}]: {slot.data.key} has another dtype or shape")
    try:
        found = tensors.parse(content, expected)
    except TensorsError as error:
        raise _Refused(WEIGHTS, str(error)) from error
    inline = {(WEIGHTS, name): InlineData(data) for name, data in found.items()}
    inline |= {(GIVEN, name): InlineData(data) for name, data in given.items()}
    return replace(executable, constants=tuple(_filled(s, inline) for s in executable.constants))


def _filled(slot: ConstantSlot, inline: Mapping[tuple[str, str], InlineData]) -> ConstantSlot:
    assert isinstance(slot.data, WeightFile), "all others were refused"
    return replace(slot, data=inline[slot.data.file, slot.data.key])


def _lowered(text: str, named: Executable, filled: Executable) -> ModuleText:
    """Return the text of a module whose constants have the names that those of ``named`` have."""
    constants: dict[tuple[str, str], bytes | memoryview] = {}
    for slot, full in zip(named.constants, filled.constants, strict=True):
        if isinstance(slot.data, WeightFile) and isinstance(full.data, InlineData):
            constants[slot.data.file, slot.data.key] = full.data.data
    return ModuleText(text, constants)


def _judged(executable: Executable, kernels: Sequence[Function]) -> Verdict:
    """Return the verdict on bytecode in which nothing is wrong."""
    verdict = judged(executable, kernels)
    found = verdict.problems
    if found:
        more = ["…"] if len(found) > _LISTED else []
        listed = ["the bytecode is not well formed:", *found[:_LISTED], *more]
        raise _Refused(CODE, "\n  ".join(listed))
    return verdict


def _check_devices(program: Program) -> None:
    """Raise `CompileError` for each device of the program that is not here."""
    roles: dict[DeviceName, list[str]] = {name: [] for name in program.executable.devices}
    for role, device in program.device_map.items():
        roles.setdefault(device, []).append(role)
    missing = [
        catalog.device_unavailable(str(name), found.reason, roles=tuple(bound))
        for name, bound in roles.items()
        if not (found := describe(name)).available
    ]
    if missing:
        raise CompileError(*missing)
