"""Mutants that move too little or too much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from hettest.language import Module, nodes
from reference_vm.bytecode.instructions import Copy, Instruction, Kill, Move
from reference_vm.devices import host_memory
from reference_vm.devices.transfer import transfer
from reference_vm.runtime import arguments, launching
from tests.mutants.instructions import changing
from tests.mutants.mutant import Mutant, Replacement, kill
from tests.mutants.programs import calls, rewriting

SHARED: Final = "placement/shared_input[plain,host=cpu:0,accel=sim:0,policy=copy]"
DIAMOND: Final = "placement/diamond[plain,host=cpu:0,accel=sim:0,policy=copy]"
TURNED: Final = (
    "bugs/c06_layout/views_from_accel[plain,view=gaps,host=cpu:0,accel=sim:0,policy=copy]"
)
IN_PLACE: Final = "placement/explicit_copy_to_own_device[plain,host=cpu:0,accel=sim:0,policy=copy]"
COMES_AND_GOES: Final = "placement/explicit_round_trip[plain,host=cpu:0,accel=sim:0,policy=copy]"


def _not_copied(instruction: Instruction) -> Sequence[Instruction]:
    """Let the copy's name stand for the original, and keep all memory until the end."""
    if isinstance(instruction, Copy) and instruction.cause == "read":
        return (Move(instruction.target.register, instruction.source),)
    return () if isinstance(instruction, Kill) else (instruction,)


def copied_twice(instruction: Instruction) -> Sequence[Instruction]:
    return (instruction, instruction) if isinstance(instruction, Copy) else (instruction,)


_view = host_memory.view
_from_host = arguments._Placer._from_host


def _view_of_anything(device: Any, tensor: Any) -> Any:
    """See every device's memory, as devices with one memory do."""
    return _view(tensor.buffer.device, tensor)


def _sent_twice(placer: Any, array: Any, type_: Any, home: Any) -> Any:
    _from_host(placer, array, type_, home)
    return _from_host(placer, array, type_, home)


def _nothing_transferred(source: Any, target: Any) -> None:
    return None


_transfer = transfer


def _column_by_column(source: Any, target: Any) -> str | None:
    """Copy as if the elements lay in column-major order."""
    via = _transfer(source, target)
    array = _view(target.buffer.device, target)
    array[...] = array.ravel(order="F").reshape(array.shape)
    return via


def _alias_where_it_is(module: Module) -> Module:
    """Let a copy to the device that a value is on be the value itself."""
    made: dict[nodes.Var, object] = {}

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        made[binding.var] = binding.request
        value = binding.value
        if calls(binding, "device_copy") and isinstance(value, nodes.Call):
            (source,) = value.args
            if isinstance(source, nodes.Var) and made.get(source) == binding.request:
                return (replace(binding, value=nodes.Alias(source), request=None),)
        return (binding,)

    return rewriting(change)(module)


MUTANTS: Final = (
    Mutant(
        name="drops-a-copy",
        fault_class="C03",
        breaks="reads another device's memory where a copy should be",
        kills=(
            kill(SHARED, "copies", "moved", "arrivals"),
            kill(DIAMOND, "copies", "moved", "arrivals"),
        ),
        loading=(changing(_not_copied),),
        running=(Replacement(host_memory, "view", _view_of_anything),),
    ),
    Mutant(
        name="drops-a-copy-on-foreign-memory",
        fault_class="C03",
        breaks="drops a copy, and the device does not see the other's memory",
        kills=(kill(SHARED, "diagnostics"), kill(DIAMOND, "diagnostics")),
        loading=(changing(_not_copied),),
    ),
    Mutant(
        name="copies-twice",
        fault_class="C04",
        breaks="makes every copy twice",
        kills=(
            kill(SHARED, "copies", "moved"),
            kill(COMES_AND_GOES, "copies", "moved"),
        ),
        loading=(changing(copied_twice),),
    ),
    Mutant(
        name="copies-nothing",
        fault_class="C07",
        breaks="notes a copy and leaves the target as it was",
        kills=(kill(SHARED, "evidence", "values"), kill(DIAMOND, "evidence", "values")),
        running=(Replacement(launching, "transfer", _nothing_transferred),),
    ),
    Mutant(
        name="copies-column-by-column",
        fault_class="C06",
        breaks="copies matrices as if they lay in column-major order",
        kills=(kill(TURNED, "values"),),
        running=(Replacement(launching, "transfer", _column_by_column),),
    ),
    Mutant(
        name="own-device-needs-no-copy",
        fault_class="C07",
        breaks="takes a copy to the device that a value is on for the value itself",
        kills=(kill(IN_PLACE, "copies", "moved"),),
        module=_alias_where_it_is,
    ),
    Mutant(
        name="sends-arguments-twice",
        fault_class="C04",
        breaks="transfers every argument twice",
        kills=(kill(SHARED, "moved"),),
        running=(Replacement(arguments._Placer, "_from_host", _sent_twice),),
    ),
)
