"""The type of one expression without blocks, from the types of its operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, final

from reference_vm.analysis import contents as content_of
from reference_vm.analysis.compatibility import Agreement, agreement, bind_symbols, symbols_in
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Call,
    Constant,
    Expr,
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

Signatures: TypeAlias = Mapping[str, FunctionType]


@final
@dataclass(frozen=True, slots=True)
class Typed:
    """An expression over typed variables, and what is known of its value."""

    value: Expr
    type: Type
    content: Content | None = None


def type_of(
    binding: Binding,
    variables: Mapping[Var, Var],
    contents: Mapping[Var, Content],
    ops: Mapping[str, OpDef],
    signatures: Signatures,
) -> Typed:
    """Return the expression of ``binding`` over the typed variables, and its type.

    ``variables`` has a typed variable for each that the expression reads.

    Raises:
        CompileError: A type, an attribute or the number of operands is wrong.
    """
    match binding.value:
        case Call() as call if call.op == "match_cast":
            return _match_cast(binding, call, variables, contents)
        case Call() as call:
            return _call(call, variables, contents, ops, signatures)
        case Invoke() as invoke:
            typed = _invoke(invoke, variables, signatures)
            if binding.request is None:
                return typed
            return replace(typed, type=map_tensors(typed.type, _unplaced))
        case Alias(var=var) as alias:
            new = variables[var]
            return Typed(replace(alias, var=new), _known(new), contents.get(new))
        case MakeTuple(items=items) as made:
            fields = tuple(variables[v] for v in items)
            return Typed(replace(made, items=fields), TupleType(tuple(map(_known, fields))))
        case Project() as project:
            return _project(project, variables[project.tuple])
        case Constant() as constant:
            type_ = TensorType(constant.dtype, constant.shape)
            return Typed(constant, type_, content_of.of_constant(constant))
        case Weight() as weight:
            return Typed(weight, TensorType(weight.dtype, weight.shape))
        case ShapeLiteral(dims=dims) as literal:
            return Typed(literal, ShapeType(dims), dims)
        case other:
            raise CompileError(catalog.not_yet_lowered(_construct(other), other.span))


def _known(var: Var) -> Type:
    assert var.type is not None
    return var.type


def _construct(expr: Expr) -> str:
    """Return what the language calls the construct that ``expr`` is."""
    words = {
        "Construct": "a constructor of a data type",
        "FunctionValue": "a function as a value",
        "Match": "match",
        "Closure": "a closure",
    }
    return words[type(expr).__name__]


def _call(
    call: Call,
    variables: Mapping[Var, Var],
    contents: Mapping[Var, Content],
    ops: Mapping[str, OpDef],
    signatures: Signatures,
) -> Typed:
    op = operator(ops, call.op, call.span)
    args: list[Operand] = [variables[a] if isinstance(a, Var) else a for a in call.args]
    types = [_operand_type(a, signatures) for a in args]
    known = [contents.get(a) if isinstance(a, Var) else None for a in args]
    typed = infer_call(op, types, call.attrs, known, call.span)
    unplaced = map_tensors(typed.type, _unplaced)
    return Typed(Call(call.op, tuple(args), typed.attrs, call.span), unplaced, typed.content)


def _unplaced(type_: TensorType) -> TensorType:
    return type_ if type_.vdevice is None else type_.on(None)


def _operand_type(operand: Operand, signatures: Signatures) -> Type | None:
    if isinstance(operand, Var):
        return _known(operand)
    return None if operand is None else signatures.get(operand.name)


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


def _invoke(invoke: Invoke, variables: Mapping[Var, Var], signatures: Signatures) -> Typed:
    if isinstance(invoke.callee, Var):
        raise CompileError(catalog.not_yet_lowered("a call of a closure", invoke.span))
    name = invoke.callee.name
    if name not in signatures:
        raise CompileError(catalog.unknown_function(name, tuple(signatures), invoke.span))
    args = tuple(variables[a] if isinstance(a, Var) else a for a in invoke.args)
    type_ = _result_type(invoke, args, signatures)
    return Typed(replace(invoke, args=args), type_)


def _result_type(invoke: Invoke, args: tuple[Operand, ...], signatures: Signatures) -> Type:
    assert isinstance(invoke.callee, GlobalRef)
    name, callee = invoke.callee.name, signatures[invoke.callee.name]
    if len(args) != len(callee.params):
        count = catalog.wrong_argument_count(name, len(args), len(callee.params), invoke.span)
        raise CompileError(count)
    given = [_operand_type(a, signatures) for a in args]
    values: dict[str, Dim] = {}
    for param, found in zip(callee.params, given, strict=True):
        if found is not None:
            bind_symbols(param, found, values)
    for index, (param, found) in enumerate(zip(callee.params, given, strict=True)):
        asked = substitute_dims(param, values)
        if found is None or agreement(found, asked) is Agreement.NEVER:
            what = f"argument {index} of @{name}"
            raise CompileError(catalog.type_mismatch(what, str(found), str(asked), invoke.span))
    unknown = symbols_in(callee.result) - values.keys()
    return substitute_dims(callee.result, values | dict.fromkeys(unknown, UNKNOWN))


__all__ = ["Typed", "type_of"]
