"""Calls, closures and values of data types to bytecode."""

from __future__ import annotations

from collections.abc import Sequence

from reference_vm.analysis.recursion import CLOSURE
from reference_vm.bytecode import instructions as bc
from reference_vm.codegen.emitter import Emitter
from reference_vm.codegen.matching import emit_checks
from reference_vm.codegen.registers import site_of
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import (
    Binding,
    Call,
    Closure,
    Construct,
    FunctionValue,
    GlobalRef,
    Invoke,
    Operand,
    Var,
)
from reference_vm.source import Span
from reference_vm.types import AdtType, FunctionType, TupleType, Type


def is_call(binding: Binding, emitter: Emitter) -> bool:
    """Whether a binding calls a function that is no kernel, or a closure."""
    value = binding.value
    if not isinstance(value, Invoke):
        return False
    return isinstance(value.callee, Var) or not emitter.is_kernel(value.callee.function)


def emit_value(emitter: Emitter, binding: Binding, *, in_tail: bool) -> None:
    """Emit a call, a closure or a constructor.

    Args:
        emitter: The function so far.
        binding: What to emit.
        in_tail: Whether it is a call whose result is the function's.

    Raises:
        CompileError: It is something that a pass should have removed.
    """
    var = binding.var
    match binding.value:
        case Invoke() as invoke:
            _invoke(emitter, binding, invoke, in_tail)
        case Construct() as construct:
            _construct(emitter, binding, construct)
        case FunctionValue(ref=ref, span=span):
            _closure(emitter, emitter.registers.of(var), ref, (), var, span)
        case Call(op=op, args=(GlobalRef() as ref, *captured), span=span) if op == CLOSURE:
            registers = _operands(emitter, captured, var, span)
            _closure(emitter, emitter.registers.of(var), ref, registers, var, span)
        case Closure(span=span):
            raise CompileError(catalog.not_lowered("a closure", "lambda-lift", span))
        case other:
            raise AssertionError(other)


def _operands(
    emitter: Emitter, args: Sequence[Operand], var: Var, span: Span | None
) -> tuple[bc.Register, ...]:
    """Return the registers of operands; a function named as one becomes a value first."""
    registers = []
    for arg in args:
        if isinstance(arg, GlobalRef):
            register = emitter.registers.fresh()
            _closure(emitter, register, arg, (), var, span)
            registers.append(register)
        else:
            assert isinstance(arg, Var), f"%{var.name}: a call leaves no operand out"
            registers.append(emitter.registers.of(arg))
    return tuple(registers)


def _closure(
    emitter: Emitter,
    register: bc.Register,
    ref: GlobalRef,
    captured: tuple[bc.Register, ...],
    var: Var,
    span: Span | None,
) -> None:
    site = site_of(f"@{ref.function}", var, span)
    emitter.code.append(bc.MakeClosure(register, emitter.indices[ref.function], captured, site))


def _invoke(emitter: Emitter, binding: Binding, invoke: Invoke, in_tail: bool) -> None:
    var = binding.var
    args = _operands(emitter, invoke.args, var, invoke.span)
    called = invoke.callee
    name = f"%{called.name}" if isinstance(called, Var) else f"@{called.function}"
    site = site_of(name, var, invoke.span)
    if isinstance(invoke.callee, Var):
        closure = emitter.registers.of(invoke.callee)
        if in_tail:
            emitter.code.append(bc.TailInvokeClosure(closure, args, site))
        else:
            target = emitter.registers.of(var)
            emitter.code.append(bc.InvokeClosure(target, closure, args, site))
            emit_checks(emitter, target, var.type, site)
        return
    function = emitter.indices[invoke.callee.function]
    if in_tail:
        emitter.code.append(bc.TailInvoke(function, args, site))
        return
    target = emitter.registers.of(var)
    emitter.code.append(bc.Invoke(target, function, args, site))
    callee = emitter.module.by_name[invoke.callee.function]
    if any(_hides_dims(p.type) for p in callee.params):
        emit_checks(emitter, target, var.type, site)


def _hides_dims(type_: Type | None) -> bool:
    """Whether a value may hold tensors that its type alone says the dims of."""
    match type_:
        case AdtType(args=args):
            return bool(args)
        case TupleType(items=items):
            return any(map(_hides_dims, items))
        case _:
            return isinstance(type_, FunctionType)


def _construct(emitter: Emitter, binding: Binding, construct: Construct) -> None:
    assert isinstance(binding.var.type, AdtType)
    data_type, tag = emitter.tables.constructor(construct.constructor)
    fields = tuple(map(emitter.registers.of, construct.args))
    site = site_of(construct.constructor, binding.var, construct.span)
    target = emitter.registers.of(binding.var)
    emitter.code.append(bc.MakeData(target, data_type, tag, fields, site))
