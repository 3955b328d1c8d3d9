"""Calls of operators to bytecode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reference_vm.bytecode import instructions as bc
from reference_vm.bytecode.symbols import lone_symbol
from reference_vm.codegen.emitter import Emitter, present
from reference_vm.codegen.registers import device_of, site_of
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Binding, Call, Var
from reference_vm.ops.definition import Trait
from reference_vm.types import HOST, Shape, ShapeType, TensorType
from reference_vm.types.elements import decode


def emit_call(emitter: Emitter, binding: Binding, call: Call) -> None:
    """Emit an operator.

    Raises:
        CompileError: It is one that ``legalize`` removes.
    """
    match call.op:
        case "device_copy":
            emit_copy(emitter, binding, call, None)
        case "match_cast":
            _match_cast(emitter, binding, call)
        case "to_vdevice" | "hint_on_device":
            raise CompileError(catalog.not_lowered(call.op, "legalize", call.span))
        case _:
            _computing(emitter, binding, call)


def _computing(emitter: Emitter, binding: Binding, call: Call) -> None:
    traits = emitter.ops[call.op].traits
    if Trait.HOST in traits:
        _host_op(emitter, binding, call)
    elif Trait.VIEW in traits:
        _view(emitter, binding, call)
    else:
        _launch_single(emitter, binding, call)


def _launch_single(emitter: Emitter, binding: Binding, call: Call) -> None:
    var, op = binding.var, emitter.ops[call.op]
    assert var.type is not None
    kernel = emitter.tables.single(call, var.type, device_of(var).kind)
    hosts = [op.is_host_operand(i) for i, a in enumerate(call.args) if isinstance(a, Var)]
    site = site_of(call.op, var, call.span)
    emitter.launch(var, kernel, present(call.args), hosts, (), site)


def _host_op(emitter: Emitter, binding: Binding, call: Call) -> None:
    var, operands = binding.var, present(call.args)
    assert var.type is not None
    site = site_of(call.op, var, call.span)
    reads_data = Trait.METADATA not in emitter.ops[call.op].traits
    args = tuple(emitter.operand(a, reads_data, site) for a in operands)
    target: bc.Target | bc.Register = emitter.registers.of(var)
    if isinstance(var.type, TensorType):
        (target,) = emitter.targets(var)
    values = tuple(map(emitter.registers.value, operands))
    kernel = emitter.tables.single(call, var.type, HOST.kind)
    emitter.code.append(bc.HostOp(kernel, args, target, values, site))


def _view(emitter: Emitter, binding: Binding, call: Call) -> None:
    var, (viewed, *others) = binding.var, present(call.args)
    assert var.type is not None
    site = site_of(call.op, var, call.span)
    (target,) = emitter.targets(var)
    source = emitter.registers.of(viewed)
    if target.is_sized:
        emitter.code.append(bc.View(target, source, None, (), site))
        return
    said = [_said(emitter, other, site) for other in others]
    kernel = emitter.tables.single(
        replace(call, args=(viewed, *(shape for shape, _ in said))), var.type, HOST.kind
    )
    args = tuple(register for _, register in said)
    emitter.code.append(bc.View(target, source, kernel, args, site))


def _said(emitter: Emitter, asked: Var, site: bc.Site) -> tuple[Var, bc.Register]:
    """Return what says the shape of a view, and its register.

    A constant is a shape value, whose -1 and 0 stay: there is nothing to read in the run, and the
    same operand gives the same shape again.
    """
    constant = emitter.constants.get(asked)
    if constant is None:
        return asked, emitter.operand(asked, True, site)
    dims = tuple(int(size) for size in decode(constant.dtype, constant.data))
    register = emitter.registers.fresh()
    emitter.code.append(bc.MakeShape(register, dims, site))
    return Var(asked.name, ShapeType(dims)), register


def _match_cast(emitter: Emitter, binding: Binding, call: Call) -> None:
    (source,) = present(call.args)
    type_ = binding.var.type
    assert isinstance(type_, TensorType | ShapeType)
    binds = _bind(emitter, (type_.shape if isinstance(type_, TensorType) else type_.dims) or ())
    site = site_of(call.op, binding.var, call.span)
    register = emitter.registers.of(source)
    target = emitter.alias(binding.var, source)
    emitter.code.append(bc.MatchCast(target, register, type_, binds, site))


def _bind(emitter: Emitter, shape: Shape) -> tuple[tuple[int, str], ...]:
    """Bring the new symbols of a shape into scope; return the axis of each."""
    found: dict[str, int] = {}
    for axis, dim in enumerate(shape):
        symbol = lone_symbol(dim)
        if symbol is not None and symbol not in emitter.symbols:
            found.setdefault(symbol, axis)
    emitter.symbols.update(dict.fromkeys(found))
    emitter.all_symbols.update(dict.fromkeys(found))
    return tuple((axis, symbol) for symbol, axis in found.items())


def emit_copy(emitter: Emitter, binding: Binding, call: Call, storage: bc.Register | None) -> None:
    """Emit a copy to the binding's device, into a storage or into memory of its own."""
    source, *_ = present(call.args)
    attrs: Mapping[str, Any] = call.attrs
    emitter.registers.name_like(binding.var, source)
    (target,) = emitter.targets(binding.var)
    if storage is not None:
        target = replace(target, storage=storage, offset=attrs["offset"])
    emitter.code.append(
        bc.Copy(
            target,
            emitter.registers.of(source),
            emitter.tables.device(device_of(binding.var)),
            attrs.get("cause", "explicit"),
            emitter.registers.value(source),
            attrs.get("reader"),
            attrs.get("line"),
            site_of("device_copy", binding.var, call.span),
        )
    )
