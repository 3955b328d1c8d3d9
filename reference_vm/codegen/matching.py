"""Patterns to bytecode: tests of tags that jump on, and the fields that they find.

For the arm ``Cons(%x, Cons(_, %rest)) => …`` of a match of ``r0``::

    unless r0 is Cons goto …
    r1 = field 0 of r0 as Cons
    r2 = field 1 of r0 as Cons
    unless r2 is Cons goto …
    r3 = field 1 of r2 as Cons
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from reference_vm.analysis.data_types import DataTypes
from reference_vm.bytecode import instructions as bc
from reference_vm.codegen.emitter import Emitter
from reference_vm.ir.nodes import (
    BindPattern,
    ConstructorPattern,
    Pattern,
    TuplePattern,
    Var,
    Wildcard,
)
from reference_vm.types import AdtType, Poly, TensorType, TupleType, Type, leaves

_Found: TypeAlias = "tuple[Pattern, bc.Register, Type]"
"""A pattern, and the register and type of what it is held against."""

Test: TypeAlias = "tuple[int, bc.BranchTag]"
"""The index of a test in the code, and the test."""


def emit_tests(emitter: Emitter, scrutinee: Var, pattern: Pattern, site: bc.Site) -> list[Test]:
    """Emit the tests of a pattern, and give its variables their registers.

    Return the tests; where they jump when the pattern does not match is the caller's to fill in.
    """
    assert scrutinee.type is not None
    tests: list[Test] = []
    bound: list[tuple[Var, bc.Register]] = []
    waiting: deque[_Found] = deque([(pattern, emitter.registers.of(scrutinee), scrutinee.type)])
    while waiting:
        top, register, type_ = waiting.popleft()
        match top:
            case BindPattern(var=var):
                bound.append((var, register))
            case ConstructorPattern(constructor=name, items=items):
                assert isinstance(type_, AdtType)
                data_type, tag = emitter.tables.constructor(name)
                if len(emitter.tables.data_types[data_type].constructors) > 1:
                    test = bc.BranchTag(register, data_type, tag, 0)
                    tests.append((len(emitter.code), test))
                    emitter.code.append(test)
                fields = DataTypes(emitter.module).field_types(name, type_.args)
                for index, (item, field) in enumerate(zip(items, fields, strict=True)):
                    if not isinstance(item, Wildcard):
                        target = emitter.registers.fresh()
                        code = bc.GetField(target, register, data_type, tag, index)
                        emitter.code.append(code)
                        waiting.append((item, target, field))
            case TuplePattern(items=items):
                assert isinstance(type_, TupleType)
                for index, (item, field) in enumerate(zip(items, type_.items, strict=True)):
                    if not isinstance(item, Wildcard):
                        target = emitter.registers.fresh()
                        emitter.code.append(bc.Project(target, register, index))
                        waiting.append((item, target, field))
            case _:
                pass
    for var, register in bound:
        emitter.registers.name(var, register)
        emit_checks(emitter, register, var.type, site)
    return tests


def emit_checks(emitter: Emitter, register: bc.Register, type_: Type | None, site: bc.Site) -> None:
    """Emit checks that the tensors in a value have the dims that symbols say.

    What comes out of a data type or a closure is known by types alone, in which ``f32[n]`` may
    stand for what only a run can tell to be of ``n`` elements.
    """
    match type_:
        case TensorType(shape=shape) if any(isinstance(d, Poly) for d in shape or ()):
            scratch = emitter.registers.fresh()
            emitter.code.append(bc.MatchCast(scratch, register, type_, (), site))
        case TupleType(items=items):
            for index, item in enumerate(items):
                if any(isinstance(d, Poly) for t in leaves(item) for d in t.shape or ()):
                    part = emitter.registers.fresh()
                    emitter.code.append(bc.Project(part, register, index))
                    emit_checks(emitter, part, item, site)
        case _:
            pass
