"""The forms of a memory plan to bytecode: explicit storages, and what is written into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reference_vm.bytecode import instructions as bc
from reference_vm.codegen.emitter import Emitter, present
from reference_vm.codegen.operators import emit_copy
from reference_vm.codegen.registers import device_of, site_of
from reference_vm.ir.nodes import Binding, Call, GlobalRef, Var

_NAMING: Final[Mapping[str, type[bc.Share | bc.Kill | bc.Poison]]] = {
    "vm.share": bc.Share,
    "vm.kill": bc.Kill,
    "vm.poison": bc.Poison,
}

PLANNED: Final = frozenset(
    {"vm.alloc_storage", "vm.take_storage", "vm.invoke", "vm.copy", *_NAMING}
)


def emit_planned(emitter: Emitter, binding: Binding, call: Call) -> None:
    """Emit one of the forms of `PLANNED`."""
    match call.op:
        case "vm.alloc_storage" | "vm.take_storage":
            site = site_of(call.op, binding.var, call.span)
            device = emitter.tables.device(device_of(binding.var))
            register = emitter.registers.of(binding.var)
            size, scope = call.attrs["size"], binding.var.vdevice.scope
            if not call.args:
                emitter.code.append(bc.AllocStorage(register, device, size, site, scope))
                return
            (source,) = map(emitter.registers.of, present(call.args))
            emitter.code.append(bc.TakeStorage(register, source, device, size, site, scope))
        case "vm.invoke":
            _invoke(emitter, binding, call)
        case "vm.copy":
            storage = call.args[1]
            register_or_none = emitter.registers.of(storage) if isinstance(storage, Var) else None
            emit_copy(emitter, binding, call, register_or_none)
        case _:
            named = tuple(emitter.registers.of(a) for a in call.args if isinstance(a, Var))
            emitter.code.append(_NAMING[call.op](named))


def _invoke(emitter: Emitter, binding: Binding, call: Call) -> None:
    ref = call.args[0]
    assert isinstance(ref, GlobalRef)
    count = call.attrs["outputs"]
    places = zip(call.args[len(call.args) - count :], call.attrs["offsets"], strict=True)
    storages = [
        (emitter.registers.of(s) if isinstance(s, Var) else None, offset or 0)
        for s, offset in places
    ]
    emitter.launch_primitive(binding, call, emitter.module.by_name[ref.function], storages)


def located(code: Sequence[bc.Instruction]) -> Iterator[bc.Instruction]:
    """Yield ``code`` with each allocation said to come from the first that writes into it."""
    first: dict[bc.Register, bc.Site] = {}
    for instruction in code:
        match instruction:
            case bc.Launch(targets=targets, site=site):
                for target in targets:
                    if target.storage is not None:
                        first.setdefault(target.storage, site)
            case bc.Copy(target=bc.Target(storage=int() as storage), site=site):
                first.setdefault(storage, site)
            case _:
                pass
    for instruction in code:
        if isinstance(instruction, bc.AllocStorage):
            yield replace(instruction, site=first.get(instruction.target, instruction.site))
        else:
            yield instruction
