"""What a program needs of whoever runs it, as capability words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hettest.case import walk
from hettest.case.dtypes import types_of
from hettest.case.expansion import DEVICE_COUNTS, Item
from hettest.devicemap import kind_of
from hettest.language import (
    AdtType,
    DType,
    FunctionType,
    Module,
    Poly,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    Unknown,
    nodes,
)

_CONSTRUCTS = {
    nodes.If: "construct:if",
    nodes.Match: "construct:match",
    nodes.Construct: "construct:adt",
    nodes.Closure: "construct:closure",
    nodes.FunctionValue: "construct:closure",
    nodes.MakeTuple: "construct:tuple",
    nodes.Project: "construct:tuple",
    nodes.Invoke: "construct:function",
    nodes.Weight: "construct:weights",
}


def of_program(module: Module) -> tuple[str, ...]:
    """Return the words that the program itself requires, sorted.

    An operator is narrowed by the dtype of its first operand where that can be told:
    ``op:add:f32``.
    """
    words = set(_type_words(module))
    for function in module.functions:
        types = types_of(module, function)
        for binding in walk.bindings(function):
            words.update(_binding_words(binding, types))
    if _is_recursive(module):
        words.add("construct:recursion")
    return tuple(sorted(words))


def of_item(item: Item, module: Module | None) -> tuple[str, ...]:
    """Return all words that the item requires; ``module`` is ``None`` for malformed programs."""
    case = item.case
    words = [word for word in case.requires if word not in DEVICE_COUNTS]
    words += [f"device:{kind_of(device)}" for device in item.devices]
    if item.policy != "copy":
        words.append(f"policy:{item.policy}")
    if case.expect.placement:
        words.append("observe:placement")
    counts = [c for c in (case.expect.copies, case.expect.moved) if c is not None]
    if any(c.number for c in counts):
        words.append("observe:copies")
    if any(c.bytes for c in counts):
        words.append("observe:bytes")
    if module is not None and not case.refused:
        words += of_program(module)
    return tuple(dict.fromkeys(words))


def _binding_words(binding: nodes.Binding, types: Mapping[nodes.Var, Type]) -> Iterator[str]:
    value = binding.value
    if type(value) in _CONSTRUCTS:
        yield _CONSTRUCTS[type(value)]
    if isinstance(value, nodes.Constant | nodes.Weight):
        yield f"dtype:{value.dtype}"
    if not isinstance(value, nodes.Call):
        return
    first = next((a for a in value.args if a is not None), None)
    type_ = types.get(first) if isinstance(first, nodes.Var) else None
    narrowed = f":{type_.dtype}" if isinstance(type_, TensorType) else ""
    yield f"op:{value.op}{narrowed}"
    yield from (f"dtype:{v}" for v in value.attrs.values() if isinstance(v, DType))


def _type_words(module: Module) -> Iterator[str]:
    for type_ in walk.types(module):
        match type_:
            case TensorType(dtype=dtype, shape=shape):
                yield f"dtype:{dtype}"
                yield from _shape_words(shape)
            case ShapeType(dims=dims):
                yield from _shape_words(dims)
            case TupleType():
                yield "construct:tuple"
            case FunctionType():
                yield "construct:closure"
            case AdtType():
                yield "construct:adt"


def _shape_words(shape: tuple[object, ...] | None) -> Iterator[str]:
    if shape is None:
        yield "shape:unknown-rank"
        return
    for dim in shape:
        if isinstance(dim, Unknown):
            yield "shape:unknown-dim"
        elif isinstance(dim, Poly):
            yield "shape:symbolic"


def _is_recursive(module: Module) -> bool:
    """Whether some function reaches itself through direct calls."""
    calls = {
        function.name: {
            binding.value.callee.function
            for binding in walk.bindings(function)
            if isinstance(binding.value, nodes.Invoke)
            and isinstance(binding.value.callee, nodes.GlobalRef)
        }
        for function in module.functions
    }
    return any(name in _reached(calls, callees) for name, callees in calls.items())


def _reached(calls: dict[str, set[str]], start: set[str]) -> set[str]:
    seen: set[str] = set()
    stack = list(start)
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            stack.extend(calls.get(name, ()))
    return seen
