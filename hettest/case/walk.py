"""Every binding and type of a program, nested blocks included, without recursion."""

from __future__ import annotations

from collections.abc import Iterator

from hettest.language import FunctionType, Module, ShapeType, TensorType, TupleType, Type, nodes


def bindings(function: nodes.Function) -> Iterator[nodes.Binding]:
    """Yield the function's bindings in order, each before those of the blocks inside it."""
    stack = [function.body.bindings()]
    while stack:
        binding = next(stack[-1], None)
        if binding is None:
            stack.pop()
            continue
        yield binding
        stack.extend(block.bindings() for block in reversed(nodes.blocks(binding.value)))


def types(module: Module) -> Iterator[Type]:
    """Yield every type that the program writes down, the parts of compound types included."""
    stack: list[Type | None] = []
    for function in module.functions:
        stack += [p.type for p in function.params]
        stack.append(function.result)
        for binding in bindings(function):
            stack.append(binding.var.type)
            if isinstance(binding.value, nodes.Closure):
                stack += [p.type for p in binding.value.params]
                stack.append(binding.value.result)
    for adt in module.adts:
        stack += [field for constructor in adt.constructors for field in constructor.fields]
    while stack:
        type_ = stack.pop()
        if type_ is None:
            continue
        yield type_
        stack += _parts(type_)


def _parts(type_: Type) -> list[Type | None]:
    match type_:
        case TupleType(items=items):
            return list(items)
        case FunctionType(params=params, result=result):
            return [*params, result]
        case TensorType() | ShapeType():
            return []
        case _:
            return list(type_.args)


def name_of(function: nodes.Function, var: nodes.Var) -> str:
    """Return the name by which observations call a variable: ``main/%s``."""
    return f"{function.name}/%{var.name}"
