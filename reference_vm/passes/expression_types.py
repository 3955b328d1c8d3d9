"""The type of one expression without blocks, from the types of its operands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from reference_vm.analysis import contents as content_of
from reference_vm.analysis.compatibility import Agreement, agreement, bind_symbols, symbols_in
from reference_vm.analysis.data_types import DataTypes
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Call,
    Constant,
    Construct,
    Expr,
    FunctionValue,
    GlobalRef,
    Invoke,
    MakeTuple,
    Operand,
    Project,
    ShapeLiteral,
    Var,
    Weight,
)
from reference_vm.ops.definition import Content, OpDef
from reference_vm.ops.typing import infer_call, operator
from reference_vm.passes.construct_types import Signatures, constructed, function_type
from reference_vm.source import Span
from reference_vm.types import (
    UNKNOWN,
    Dim,
    FunctionType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    map_tensors,
    substitute_dims,
)


@final
@dataclass(frozen=True, slots=True)
class Typed:
    """An expression over typed variables, and what is known of its value."""

    value: Expr
    type: Type
    content: Content | None = None

    def unplaced(self) -> Typed:
        """Return the same without devices."""
        return replace(self, type=map_tensors(self.type, _unplaced))


def type_of(
    binding: Binding,
    variables: Mapping[Var, Var],
    contents: Mapping[Var, Content],
    ops: Mapping[str, OpDef],
    signatures: Signatures,
    types: DataTypes,
    named: Mapping[Var, str],
) -> Typed:
    """Return the expression of ``binding`` over the typed variables, and its type.

    ``variables`` has a typed variable for each that the expression reads, ``named`` the function
    that a typed variable is known to be.

    Raises:
        CompileError: A type, an attribute or the number of operands is wrong.
    """
    match binding.value:
        case Call() as call if call.op == "match_cast":
            return _match_cast(binding, call, variables, contents)
        case Call() as call:
            return _call(call, variables, contents, ops, signatures)
        case Invoke() as invoke:
            typed = _invoke(invoke, variables, signatures, named)
            return typed if binding.request is None else typed.unplaced()
        case Alias(var=var) as alias:
            new = variables[var]
            return Typed(replace(alias, var=new), _known(new), contents.get(new))
        case MakeTuple(items=items) as made:
            fields = tuple(variables[v] for v in items)
            return Typed(replace(made, items=fields), TupleType(tuple(map(_known, fields))))
        case Project() as project:
            return _project(project, variables[project.tuple])
        case Constant() | Weight() as constant:
            known = content_of.of_constant(constant) if isinstance(constant, Constant) else None
            return Typed(constant, TensorType(constant.dtype, constant.shape), known)
        case ShapeLiteral(dims=dims) as literal:
            return Typed(literal, ShapeType(dims), dims)
        case Construct() as construct:
            return _construct(binding, construct, variables, types)
        case other:
            assert isinstance(other, FunctionValue), "infer-types types what holds blocks"
            return Typed(other, function_type(other, binding.var.type, signatures))


def _known(var: Var) -> Type:
    assert var.type is not None
    return var.type


def _construct(
    binding: Binding, construct: Construct, variables: Mapping[Var, Var], types: DataTypes
) -> Typed:
    args = tuple(variables[v] for v in construct.args)
    given = [map_tensors(_known(v), _unplaced) for v in args]
    type_ = constructed(binding.var, construct, given, types)
    return Typed(replace(construct, args=args), type_)


def _call(
    call: Call,
    variables: Mapping[Var, Var],
    contents: Mapping[Var, Content],
    ops: Mapping[str, OpDef],
    signatures: Signatures,
) -> Typed:
    op = operator(ops, call.op, call.span)
    args: list[Operand] = [variables[a] if isinstance(a, Var) else a for a in call.args]
    types = [
        signatures.get(a.function) if isinstance(a, GlobalRef) else _operand_type(a) for a in args
    ]
    known = [contents.get(a) if isinstance(a, Var) else None for a in args]
    typed = infer_call(op, types, call.attrs, known, call.span)
    unplaced = map_tensors(typed.type, _unplaced)
    return Typed(Call(call.op, tuple(args), typed.attrs, call.span), unplaced, typed.content)


def _unplaced(type_: TensorType) -> TensorType:
    return type_ if type_.vdevice is None else type_.on(None)


def _operand_type(operand: Operand) -> Type | None:
    return _known(operand) if isinstance(operand, Var) else None


def _match_cast(
    binding: Binding,
    call: Call,
    variables: Mapping[Var, Var],
    contents: Mapping[Var, Content],
) -> Typed:
    asked = binding.var.type
    if asked is None:
        raise CompileError(catalog.match_cast_without_type(binding.var.name, call.span))
    if len(call.args) != 1 or not isinstance(call.args[0], Var):
        raise CompileError(catalog.wrong_arity("match_cast", len(call.args), 1, 1, call.span))
    var = variables[call.args[0]]
    found = _known(var)
    if agreement(found, asked) is Agreement.NEVER:
        raise CompileError(catalog.type_mismatch("match_cast", str(found), str(asked), call.span))
    content = asked.dims if isinstance(asked, ShapeType) else contents.get(var)
    return Typed(replace(call, args=(var,)), asked, content)


def _project(project: Project, var: Var) -> Typed:
    found = _known(var)
    if not isinstance(found, TupleType):
        problem = catalog.type_mismatch(f"%{var.name}", str(found), "a tuple", project.span)
        raise CompileError(problem)
    if not 0 <= project.index < len(found.items):
        count = len(found.items)
        raise CompileError(catalog.no_such_item(var.name, project.index, count, project.span))
    return Typed(replace(project, tuple=var), found.items[project.index])


def _invoke(
    invoke: Invoke,
    variables: Mapping[Var, Var],
    signatures: Signatures,
    named: Mapping[Var, str],
) -> Typed:
    args = tuple(variables[a] if isinstance(a, Var) else a for a in invoke.args)
    if isinstance(invoke.callee, Var):
        called = variables[invoke.callee]
        callee = _known(called)
        if not isinstance(callee, FunctionType):
            problem = catalog.type_mismatch(
                f"%{called.name}", str(callee), "a function", invoke.span
            )
            raise CompileError(problem)
        here = symbols_in(callee)  # those of a value's type are symbols of this function
        if called in named:  # but a function of the module has its own, and says more
            callee, here = signatures[named[called]], set()
        type_ = _result_type(f"%{called.name}", callee, args, signatures, invoke.span, here)
        return Typed(replace(invoke, callee=called, args=args), type_)
    name = invoke.callee.function
    if name not in signatures:
        raise CompileError(catalog.unknown_function(name, tuple(signatures), invoke.span))
    type_ = _result_type(f"@{name}", signatures[name], args, signatures, invoke.span)
    return Typed(replace(invoke, args=args), type_)


def _result_type(
    name: str,
    callee: FunctionType,
    args: Sequence[Operand],
    signatures: Signatures,
    span: Span | None,
    known: Collection[str] = (),
) -> Type:
    """Return the type of a call's result; symbols of the caller are in ``known``."""
    if len(args) != len(callee.params):
        count = catalog.wrong_argument_count(name, len(args), len(callee.params), span)
        raise CompileError(count)
    values: dict[str, Dim] = {}
    given = list(_given(callee, args, signatures, values))
    for index, (param, found) in enumerate(zip(callee.params, given, strict=True)):
        asked = substitute_dims(param, values)
        if found is None or agreement(found, asked) is Agreement.NEVER:
            what = f"argument {index} of {name}"
            raise CompileError(catalog.type_mismatch(what, str(found), str(asked), span))
    unknown = symbols_in(callee.result) - values.keys() - set(known)
    return substitute_dims(callee.result, values | dict.fromkeys(unknown, UNKNOWN))


def _given(
    callee: FunctionType, args: Sequence[Operand], signatures: Signatures, values: dict[str, Dim]
) -> Sequence[Type | None]:
    """Return the types of the arguments; add to ``values`` what they say of the callee's symbols.

    Those of a function named as an argument are what the callee asks of it, in the caller's
    symbols: so the other arguments have their say first.
    """
    given = [_operand_type(a) for a in args]
    for param, found in zip(callee.params, given, strict=True):
        if found is not None:
            bind_symbols(param, found, values)
    for index, (param, arg) in enumerate(zip(callee.params, args, strict=True)):
        if isinstance(arg, GlobalRef):
            unknown = dict.fromkeys(symbols_in(param) - values.keys(), UNKNOWN)
            asked = substitute_dims(param, values | unknown)
            found = given[index] = function_type(arg, asked, signatures)
            bind_symbols(param, found, values)
    return given


__all__ = ["Typed", "type_of"]
