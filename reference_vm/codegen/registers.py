"""The registers of one function, and what its instructions call the values in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from reference_vm.bytecode.instructions import Register, Site
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Var
from reference_vm.source import Span
from reference_vm.types import HOST, DeviceName, TensorType, TupleType


@dataclass
class Registers:
    """Gives each variable a register of its own."""

    count: int = 0
    _of: dict[Var, Register] = field(default_factory=dict)
    _values: dict[Var, str | None] = field(default_factory=dict)

    def of(self, var: Var) -> Register:
        if var not in self._of:
            self._of[var] = self.fresh()
        return self._of[var]

    def name(self, var: Var, register: Register) -> None:
        """Let a register that holds a value already be that of ``var``."""
        self._of[var] = register

    def fresh(self) -> Register:
        self.count += 1
        return self.count - 1

    def value(self, var: Var) -> str | None:
        """Return the source variable whose value ``var`` is; a pass's copy is what it copies."""
        return var.source or self._values.get(var)

    def name_like(self, var: Var, other: Var, index: int | None = None) -> None:
        """Note that ``var`` has the value of ``other``, or of one of its items."""
        value = self.value(other)
        if value is not None and index is not None:
            value = f"{value}[{index}]"
        self._values[var] = value


def site_of(op: str, var: Var, span: Span | None) -> Site:
    return Site(op, (var.source,) if var.source else (), span)


def results_of(var: Var) -> tuple[TensorType, ...]:
    """Return the types of the tensors that an operator gives: one, or a flat tuple."""
    if isinstance(var.type, TensorType):
        return (var.type,)
    assert isinstance(var.type, TupleType), f"%{var.name} is no tensor: {var.type}"
    items = var.type.items
    assert all(isinstance(t, TensorType) for t in items), f"%{var.name}: {var.type}"
    return tuple(t for t in items if isinstance(t, TensorType))


def device_of(var: Var) -> DeviceName:
    """Return the device that a tensor, or the first one of a tuple, lives on.

    Raises:
        CompileError: Nothing says it.
    """
    results = results_of(var)
    if not results:
        return HOST
    vdevice = results[0].vdevice
    if vdevice is None or vdevice.device is None:
        needed = "plan-devices" if vdevice is None else "bind-vdevices"
        raise CompileError(catalog.not_lowered(f"%{var.name} without device", needed, var.span))
    return vdevice.device
