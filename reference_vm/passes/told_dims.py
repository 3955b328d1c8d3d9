"""Let calls tell a function the dims that its arguments do not show.

Before::

    fn @total(%l: List[f32[n] @host]) -> f32[n] @host { … }
    fn @main(%x: f32[m] @host, …) … {
      %t: f32[m] @host = @total(%l)

After::

    fn @total(%l: List[f32[n] @host], %dims: shape[n]) -> f32[n] @host { … }
    fn @main(%x: f32[m] @host, …) … {
      %dims: shape[m] = shape [m]
      %t: f32[m] @host = @total(%l, %dims)

A symbol that stands in data types and functions only is not told by an argument: a list may be
empty, and a function has no dims. Where every call knows such symbols by its own, they are passed
as a shape. Entries and functions that are named as values keep their signature; what is then told
by functions alone becomes ``?`` in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reference_vm.analysis.compatibility import (
    bind_symbols,
    bound_symbols,
    forget_symbols,
    symbols_in,
)
from reference_vm.analysis.recursion import mentioned
from reference_vm.bytecode.symbols import lone_symbols
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Binding,
    Call,
    Expr,
    Function,
    GlobalRef,
    Invoke,
    Module,
    ShapeLiteral,
    Var,
)
from reference_vm.types import AttrValue, Dim, Poly, Shape, ShapeType, Unknown
from reference_vm.types.dim import symbol, symbols


def with_told_dims(module: Module) -> Module:
    """Return ``module`` with every symbol of a function told by its parameters, or else ``?``.

    Raises:
        CompileError: A shape or an attribute is made of a symbol that no run can tell.
    """
    hidden = {f.name: _hidden(f) for f in module.functions if not f.is_primitive}
    told = {name: found for name, found in hidden.items() if found}
    if not told:
        return module
    for name in _by_value(module):
        told.pop(name, None)
    asked = {name: _with_parameter(module.by_name[name], told[name]) for name in told}
    while unknown := set(_not_known(module, told)) & told.keys():
        for name in unknown:
            del told[name]
    functions = [asked[f.name] if f.name in told else f for f in module.functions]
    passed = [f if f.is_primitive else _with_arguments(f, module, told) for f in functions]
    return module.with_functions([f if f.is_primitive else _without_untold(f) for f in passed])


def _hidden(function: Function) -> tuple[str, ...]:
    """Return the symbols that stand alone in parameters, but in no tensor or shape of these."""
    types = [p.type for p in function.params if p.type is not None]
    shown = {s for t in types for s in lone_symbols(t, inside=False)}
    return tuple(sorted({s for t in types for s in bound_symbols(t)} - shown))


def _by_value(module: Module) -> Iterator[str]:
    """Yield the functions whose signature others rely on."""
    yield from (f.name for f in module.entries)
    for function in module.functions:
        called = [
            value.callee.function
            for binding in rewrite.walk(function.body)
            if isinstance(value := binding.value, Invoke) and isinstance(value.callee, GlobalRef)
        ]
        named = list(mentioned(function))
        yield from (name for name in set(named) if named.count(name) > called.count(name))


def _calls(function: Function) -> Iterator[tuple[Invoke, str]]:
    for binding in rewrite.walk(function.body):
        value = binding.value
        if isinstance(value, Invoke) and isinstance(value.callee, GlobalRef):
            yield value, value.callee.function


def _not_known(module: Module, told: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield the functions that some call does not know all hidden symbols of."""
    for function in module.functions:
        for call, name in _calls(function):
            if name in told and _dims(call, module.by_name[name], told[name]) is None:
                yield name


def _dims(call: Invoke, callee: Function, hidden: tuple[str, ...]) -> Shape | None:
    """Return what the hidden symbols of ``callee`` are at a call; ``None`` if it cannot say."""
    values: dict[str, Dim] = {}
    for param, arg in zip(callee.params, call.args, strict=False):
        if isinstance(arg, Var) and arg.type is not None and param.type is not None:
            bind_symbols(param.type, arg.type, values)
    found = tuple(values.get(name) for name in hidden)
    known = tuple(d for d in found if d is not None and not isinstance(d, Unknown))
    return known if len(known) == len(found) else None


def _with_parameter(function: Function, hidden: tuple[str, ...]) -> Function:
    dims = Var("dims", ShapeType(tuple(map(symbol, hidden))))
    return replace(function, params=(*function.params, dims))


def _with_arguments(
    function: Function, module: Module, told: Mapping[str, tuple[str, ...]]
) -> Function:
    """Return ``function`` passing the dims that the functions it calls ask for."""
    if not any(name in told for _, name in _calls(function)):
        return function

    def change(binding: Binding) -> Iterator[Binding]:
        value = binding.value
        if not isinstance(value, Invoke) or not isinstance(value.callee, GlobalRef):
            yield binding
            return
        name = value.callee.function
        if name not in told:
            yield binding
            return
        dims = _dims(value, module.by_name[name], told[name])
        assert dims is not None
        shape = Var("dims", ShapeType(dims))
        yield Binding(shape, ShapeLiteral(dims, value.span))
        yield replace(binding, value=replace(value, args=(*value.args, shape)))

    return replace(function, body=rewrite.rebuild(function.body, change, {}))


def _without_untold(function: Function) -> Function:
    """Return ``function`` with ``?`` for each symbol that stands in types of functions only."""
    types = [p.type for p in function.params if p.type is not None]
    told = {s for t in types for s in lone_symbols(t, inside=True)}
    untold = {s for t in types for s in bound_symbols(t)} - told
    if not untold:
        return function
    for binding in rewrite.walk(function.body):
        for name in sorted(set(in_expression(binding.value)) & untold):
            raise CompileError(catalog.unbound_dim(name, binding.value.span))
    own = [b.var.type for b in rewrite.walk(function.body) if b.var.type is not None]
    known = told | {s for t in own for s in symbols_in(t) - untold}
    return rewrite.retype(function, lambda type_: forget_symbols(type_, known))


def in_expression(value: Expr) -> Iterator[str]:
    """Yield the symbols that an expression names itself, in a shape or an attribute."""
    match value:
        case ShapeLiteral(dims=dims):
            yield from (s for d in dims for s in symbols(d))
        case Call(attrs=attrs):
            for attribute in attrs.values():
                yield from _in_attribute(attribute)
        case _:
            return


def _in_attribute(value: AttrValue) -> Iterator[str]:
    if isinstance(value, tuple):
        for item in value:
            yield from _in_attribute(item)
    elif isinstance(value, Poly):
        yield from symbols(value)


__all__ = ["in_expression", "with_told_dims"]
