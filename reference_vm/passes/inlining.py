"""One call, replaced by the body of the function that it calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from reference_vm.analysis.compatibility import (
    Agreement,
    agreement,
    bind_symbols,
    bound_symbols,
    placed_as,
    symbols_in,
)
from reference_vm.ir import rewrite
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Call,
    Closure,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    MakeTuple,
    Operand,
    Project,
    ShapeLiteral,
    Var,
)
from reference_vm.source import Span
from reference_vm.types import (
    AdtType,
    Attrs,
    AttrValue,
    Dim,
    FunctionType,
    Poly,
    TupleType,
    Type,
    leaves,
    substitute_dims,
)
from reference_vm.types.dim import Unknown, substitute, symbol


class Inliner:
    """Inlines calls into one function, and keeps the symbols of each call apart."""

    def __init__(self, caller: Function) -> None:
        self._names = FreshNames(_symbols(caller), "_")

    def inlined(self, binding: Binding, callee: Function) -> Iterable[Binding] | None:
        """Return what replaces ``binding``, a call of ``callee``; ``None`` if nothing can.

        A call must stay if only a run can tell whether a data type or a function that it passes is
        what ``callee`` promises.
        """
        call = binding.value
        assert isinstance(call, Invoke)
        values = self._dims(callee, call.args)
        own = rewrite.retype(callee, lambda type_: substitute_dims(type_, values))
        if not all(map(_can_pass, call.args, own.params)):
            return None
        return self._bindings(binding, call, own, values)

    def _bindings(
        self, binding: Binding, call: Invoke, own: Function, values: dict[str, Dim]
    ) -> Iterator[Binding]:
        """Yield the body of the callee, whose types are already in terms of the caller."""
        variables: dict[Var, Var] = {}
        for param, arg in zip(own.params, call.args, strict=True):
            passed: list[Binding] = []
            variables[param] = _passed(param, arg, passed, call.span)
            yield from passed
        body = rewrite.rebuild(own.body, lambda b: (_with_dims(b, values),), variables)
        yield from body.bindings()
        result = rewrite.with_type(body.result, own.result)
        placed = _placed(body.result, result)
        if placed is not None:
            yield Binding(placed, Alias(body.result, call.span))
        yield Binding(binding.var, Alias(placed or body.result, call.span), binding.request)

    def _dims(self, callee: Function, args: Sequence[Operand]) -> dict[str, Dim]:
        """Return what each symbol of ``callee`` is at this call, a new one where it is unknown."""
        values: dict[str, Dim] = {}
        for param, arg in zip(callee.params, args, strict=True):
            if isinstance(arg, Var):
                assert param.type is not None
                assert arg.type is not None
                bind_symbols(param.type, arg.type, values)
        for name in sorted(_symbols(callee)):
            if isinstance(values.get(name), Unknown | None):
                values[name] = symbol(self._names.fresh(name))
        return values


def _symbols(function: Function) -> set[str]:
    """Return the symbols that ``function`` binds, in parameters and by ``match_cast``."""
    found: set[str] = set()
    for param in function.params:
        assert param.type is not None
        found |= symbols_in(param.type)
    for binding in rewrite.walk(function.body):
        value = binding.value
        if isinstance(value, Closure):
            found |= {s for p in value.params if p.type is not None for s in symbols_in(p.type)}
        if isinstance(value, Call) and value.op == "match_cast" and binding.var.type is not None:
            found |= bound_symbols(binding.var.type)
    return found


def _can_pass(arg: Operand, param: Var) -> bool:
    """Whether an argument can stand for ``param``, after casts of tensors at most."""
    assert param.type is not None
    if not isinstance(arg, Var):
        return not symbols_in(param.type)
    assert arg.type is not None
    if agreement(arg.type, param.type) is Agreement.ALWAYS:
        return True
    return not any(isinstance(t, AdtType | FunctionType) for t in _items(param.type))


def _items(type_: Type) -> Iterator[Type]:
    """Yield the items of nested tuples, or ``type_`` itself."""
    stack = [type_]
    while stack:
        top = stack.pop()
        if isinstance(top, TupleType):
            stack.extend(top.items)
        else:
            yield top


def _passed(param: Var, arg: Operand, made: list[Binding], span: Span | None) -> Var:
    """Return what stands for ``param``; what has to be computed for it is added to ``made``."""
    assert param.type is not None
    if isinstance(arg, GlobalRef):
        var = Var(param.name, param.type)
        made.append(Binding(var, FunctionValue(arg, span)))
        return var
    assert isinstance(arg, Var)
    assert arg.type is not None
    var = arg
    if agreement(arg.type, param.type) is not Agreement.ALWAYS:
        var = _cast(arg, param.type, param.name, made)
    placed = _placed(var, param)
    if placed is None:
        return var
    made.append(Binding(placed, Alias(var, span)))
    return placed


def _placed(var: Var, asked: Var) -> Var | None:
    """Return a variable like ``asked`` for ``var``'s value, if ``asked`` lives anywhere."""
    assert var.type is not None
    assert asked.type is not None
    if all(leaf.vdevice is None for leaf in leaves(asked.type)):
        return None
    return rewrite.with_type(asked, placed_as(var.type, asked.type))


def _cast(var: Var, asked: Type, name: str, made: list[Binding]) -> Var:
    """Return ``var`` checked to be of type ``asked``, each item of a tuple by itself."""
    assert var.type is not None
    if not isinstance(asked, TupleType):
        cast = Var(name, asked)
        made.append(Binding(cast, Call("match_cast", (var,))))
        return cast
    assert isinstance(var.type, TupleType)
    items = []
    for index, (found, inner) in enumerate(zip(var.type.items, asked.items, strict=True)):
        item = Var(f"{name}.{index}", found)
        made.append(Binding(item, Project(var, index)))
        items.append(_cast(item, inner, item.name, made))
    whole = Var(name, asked)
    made.append(Binding(whole, MakeTuple(tuple(items))))
    return whole


def _with_dims(binding: Binding, values: dict[str, Dim]) -> Binding:
    """Return ``binding`` with symbols replaced in the dims that its expression holds."""
    value = binding.value
    if isinstance(value, ShapeLiteral):
        dims = tuple(substitute(d, values) for d in value.dims)
        return replace(binding, value=replace(value, dims=dims))
    if isinstance(value, Call) and any(isinstance(a, Poly | tuple) for a in value.attrs.values()):
        attrs = Attrs({name: with_symbols(a, values) for name, a in value.attrs.items()})
        return replace(binding, value=replace(value, attrs=attrs))
    return binding


def with_symbols(attr: AttrValue, values: Mapping[str, Dim]) -> AttrValue:
    """Return an attribute with sizes in place of its symbols."""
    if isinstance(attr, tuple):
        return tuple(with_symbols(a, values) for a in attr)
    if not isinstance(attr, Poly):
        return attr
    found = substitute(attr, values)
    assert not isinstance(found, Unknown)
    return found


__all__ = ["Inliner", "with_symbols"]
