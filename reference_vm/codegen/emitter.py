"""What all parts of code generation share: one function's code, registers and symbols so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from reference_vm.bytecode import instructions as bc
from reference_vm.codegen.registers import Registers, device_of, results_of
from reference_vm.codegen.tables import Tables
from reference_vm.ir.nodes import (
    Binding,
    Call,
    Constant,
    Function,
    Invoke,
    Module,
    Operand,
    Var,
)
from reference_vm.ops.definition import OpDef
from reference_vm.types import GLOBAL_SCOPE, HOST, DeviceName, TensorType

Storages: TypeAlias = Sequence[tuple[bc.Register | None, int]]
"""For each result the storage it lies in and the offset there; none for memory of its own."""


@dataclass
class Emitter:
    """One function, being emitted."""

    module: Module
    ops: Mapping[str, OpDef]
    tables: Tables
    indices: Mapping[str, int]
    """The index of each function that is no kernel."""

    symbols: dict[str, None]
    """Those in scope, in the order of their slots."""

    code: list[bc.Instruction] = field(default_factory=list)
    registers: Registers = field(default_factory=Registers)
    all_symbols: dict[str, None] = field(default_factory=dict)
    on_host: dict[Var, bc.Register] = field(default_factory=dict)
    """Where the data of tensors was read to, in the blocks around."""

    constants: dict[Var, Constant] = field(default_factory=dict)
    """What is known of variables when the program is compiled."""

    def is_kernel(self, name: str) -> bool:
        """Whether the function of this name is a kernel."""
        return self.module.by_name[name].is_primitive

    def alias(self, var: Var, source: Var, index: int | None = None) -> bc.Register:
        """Return the register of another name for ``source``, or for one of its items."""
        self.registers.name_like(var, source, index)
        return self.registers.of(var)

    def operands(
        self, args: Sequence[Var], hosts: Sequence[bool], device: DeviceName, site: bc.Site
    ) -> tuple[bc.Register, ...]:
        """Return the registers of operands; what is read on the host is read there first."""
        return tuple(
            self.operand(arg, host and device != HOST, site)
            for arg, host in zip(args, hosts, strict=True)
        )

    def operand(self, arg: Var, host: bool, site: bc.Site) -> bc.Register:
        if not host or not isinstance(arg.type, TensorType):
            return self.registers.of(arg)
        return self.read(arg, site)

    def read(self, var: Var, site: bc.Site) -> bc.Register:
        """Return the register that holds the data of a tensor on the host."""
        if var not in self.on_host:
            register = self.on_host[var] = self.registers.fresh()
            source, value = self.registers.of(var), self.registers.value(var)
            self.code.append(bc.ReadHost(register, source, value, site))
        return self.on_host[var]

    def targets(self, var: Var) -> tuple[bc.Target, ...]:
        """Return what an operator's results are written to: one tensor, or each of a tuple."""
        if isinstance(var.type, TensorType):
            return (_target(self.registers.of(var), var.type, self.registers.value(var)),)
        return tuple(
            _target(self.registers.fresh(), t, var.source and f"{var.source}[{i}]")
            for i, t in enumerate(results_of(var))
        )

    def launch(
        self,
        var: Var,
        kernel: int,
        operands: Sequence[Var],
        hosts: Sequence[bool],
        storages: Storages,
        site: bc.Site,
    ) -> None:
        """Launch a kernel whose results are ``var``."""
        device = device_of(var)
        args = self.operands(operands, hosts, device, site)
        targets = self.targets(var)
        if storages:
            placed = zip(targets, storages, strict=True)
            targets = tuple(replace(t, storage=s, offset=o) for t, (s, o) in placed)
        values = tuple(map(self.registers.value, operands))
        index = self.tables.device(device)
        self.code.append(bc.Launch(kernel, index, args, targets, values, site))
        if not isinstance(var.type, TensorType):
            made = tuple(t.register for t in targets)
            self.code.append(bc.MakeTuple(self.registers.of(var), made))

    def launch_primitive(
        self, binding: Binding, call: Invoke | Call, callee: Function, storages: Storages
    ) -> None:
        """Launch the kernel that a primitive function is."""
        attrs: Mapping[str, Any] = call.attrs
        defines = tuple(d for d in attrs.get("defines", ()) if d)
        site = bc.Site(_name(callee), defines, call.span)
        args = call.args if isinstance(call, Invoke) else call.args[1 : 1 + len(callee.params)]
        kernel = self.tables.primitive(callee, device_of(binding.var).kind)
        hosts = host_params(callee, self.ops)
        self.launch(binding.var, kernel, present(args), hosts, storages, site)


def _target(register: bc.Register, type_: TensorType, value: str | None) -> bc.Target:
    scope = type_.vdevice.scope if type_.vdevice is not None else GLOBAL_SCOPE
    return bc.Target(register, type_.dtype, type_.shape, value, scope=scope)


def _name(primitive: Function) -> str:
    """Return what a kernel is called: by its operator, or if it has several by its own name."""
    ops = [b.value.op for b in primitive.body.bindings() if isinstance(b.value, Call)]
    return ops[0] if len(ops) == 1 else primitive.name


def present(args: Sequence[Operand]) -> tuple[Var, ...]:
    """Return the operands that are not left out."""
    return tuple(a for a in args if isinstance(a, Var))


def host_params(primitive: Function, ops: Mapping[str, OpDef]) -> list[bool]:
    """Return, for each parameter, whether its data is read on the host to decide a shape."""
    device: set[Var] = set()
    host: set[Var] = set()
    for binding in primitive.body.bindings():
        if isinstance(binding.value, Call):
            op = ops[binding.value.op]
            for i, arg in enumerate(binding.value.args):
                if isinstance(arg, Var):
                    (host if op.is_host_operand(i) else device).add(arg)
    return [p in host and p not in device for p in primitive.params]
