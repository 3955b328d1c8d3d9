"""The types of data types' values and of functions as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from reference_vm.analysis.compatibility import (
    Agreement,
    agreement,
    bind_symbols,
    join,
    symbols_in,
)
from reference_vm.analysis.data_types import DataTypes
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import (
    BindPattern,
    Construct,
    ConstructorPattern,
    FunctionValue,
    GlobalRef,
    Pattern,
    TuplePattern,
    Var,
)
from reference_vm.source import Span
from reference_vm.types import (
    UNKNOWN,
    AdtType,
    Dim,
    FunctionType,
    TupleType,
    Type,
    substitute_dims,
)

Signatures: TypeAlias = Mapping[str, FunctionType]


def constructed(var: Var, construct: Construct, given: Sequence[Type], types: DataTypes) -> AdtType:
    """Return the type of what ``construct`` makes of fields of the types ``given``.

    The type written on ``var`` says what the arguments of the data type are, or else the fields.

    Raises:
        CompileError: A field has another type, or nothing says what an argument is.
    """
    adt, declared = types.declaration(construct.constructor)
    asked = var.type
    if isinstance(asked, AdtType) and asked.name == adt.name:
        args = asked.args
    else:
        found: dict[str, Type] = {}
        for field, type_ in zip(declared.fields, given, strict=True):
            _bind(field, type_, adt.params, found)
        unknown = [name for name in adt.params if name not in found]
        if unknown:
            what = f"{construct.constructor}, which does not say what {unknown[0]} is"
            wanted = f"%{var.name} with a type: {adt.name}[{', '.join(adt.params)}]"
            raise CompileError(catalog.type_mismatch("a constructor", what, wanted, construct.span))
        args = tuple(found[name] for name in adt.params)
    fields = types.field_types(construct.constructor, args)
    for index, (field, type_) in enumerate(zip(fields, given, strict=True)):
        if agreement(type_, field) is not Agreement.ALWAYS:
            what = f"field {index} of {construct.constructor}"
            raise CompileError(catalog.type_mismatch(what, str(type_), str(field), construct.span))
    return AdtType(adt.name, args)


def _bind(field: Type, given: Type, params: Sequence[str], found: dict[str, Type]) -> None:
    """Add to ``found`` what the type parameters in ``field`` are where it is ``given``."""
    match field, given:
        case AdtType(name=name, args=()), _ if name in params:
            known = found.get(name)
            joined = given if known is None else join(known, given)
            found[name] = given if joined is None else joined
        case (AdtType(args=left), AdtType(args=right)) | (
            TupleType(items=left),
            TupleType(items=right),
        ) if len(left) == len(right):
            for inner, part in zip(left, right, strict=True):
                _bind(inner, part, params, found)
        case (FunctionType(), FunctionType()) if len(field.params) == len(given.params):
            for inner, part in zip(field.params, given.params, strict=True):
                _bind(inner, part, params, found)
            _bind(field.result, given.result, params, found)
        case _:
            return


def pattern_types(
    pattern: Pattern, type_: Type, types: DataTypes, span: Span | None
) -> Iterator[tuple[Var, Type]]:
    """Yield each variable of ``pattern`` with its type, for a value of type ``type_``.

    Raises:
        CompileError: A pattern is of another type.
    """
    stack: list[tuple[Pattern, Type]] = [(pattern, type_)]
    while stack:
        top, found = stack.pop()
        match top:
            case BindPattern(var=var):
                yield var, found
            case TuplePattern(items=items):
                if not isinstance(found, TupleType) or len(found.items) != len(items):
                    what = f"a pattern of {len(items)} items"
                    raise CompileError(
                        catalog.type_mismatch(what, "a tuple pattern", str(found), top.span or span)
                    )
                stack.extend(reversed(list(zip(items, found.items, strict=True))))
            case ConstructorPattern(constructor=name, items=items):
                adt, _ = types.declaration(name)
                if not isinstance(found, AdtType) or found.name != adt.name:
                    what = f"the pattern {name}"
                    raise CompileError(
                        catalog.type_mismatch(what, adt.name, str(found), top.span or span)
                    )
                fields = types.field_types(name, found.args)
                stack.extend(reversed(list(zip(items, fields, strict=True))))
            case _:
                pass


def function_type(
    value: FunctionValue | GlobalRef, asked: Type | None, signatures: Signatures
) -> FunctionType:
    """Return the type of a function named as a value, its symbols being what ``asked`` says.

    What ``asked`` does not say is unknown: the function's symbols are its own, and have nothing to
    do with those of equal name around the value.

    Raises:
        CompileError: There is no such function.
    """
    name = value.function if isinstance(value, GlobalRef) else value.ref.function
    span = None if isinstance(value, GlobalRef) else value.span
    if name not in signatures:
        raise CompileError(catalog.unknown_function(name, tuple(signatures), span))
    own = signatures[name]
    values: dict[str, Dim] = dict.fromkeys(symbols_in(own), UNKNOWN)
    if isinstance(asked, FunctionType) and len(asked.params) == len(own.params):
        for param, given in zip(own.params, asked.params, strict=True):
            bind_symbols(param, given, values)
    found = substitute_dims(own, values)
    assert isinstance(found, FunctionType)
    return found


__all__ = ["Signatures", "constructed", "function_type", "pattern_types"]
