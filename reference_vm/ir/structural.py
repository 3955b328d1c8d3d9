"""Equality and digests of programs, up to the names of their variables.

``%y = exp(%x)`` and ``%b = exp(%a)`` are one structure if ``%x`` and ``%a`` are bound at the same
place. Types, requests, attributes, constants and the names of functions, roles, data types and
symbols count; names of variables, spans and `Var.source` do not, nor do the types of what a pattern
binds, which the matched value's type says and no text can. A variable bound outside of what is
compared is equal to itself only, and goes into a digest by its name.

Both questions read one flat stream of items, so a program nested deep or a hundred thousand
bindings long needs no more of Python's stack than a small one. Whether a program is what it was
can be asked without reading its constants: `Fingerprints`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from hashlib import blake2b
from itertools import zip_longest
from typing import Any, Final, TypeAlias, Union, final

from reference_vm.ir import nodes
from reference_vm.types import AdtType, FunctionType, ShapeType, TensorType, TupleType, Type

Node: TypeAlias = Union[nodes.Module, nodes.Function, nodes.Block, nodes.Expr, Type]
"""What can be compared. A function's name counts; give both one name to compare the rest."""

Item: TypeAlias = tuple[Hashable, ...]
_Numbers: TypeAlias = dict[nodes.Var, int]
_Nested: TypeAlias = Union[Item, nodes.Block]


SHORT: Final = 64
"""Bytes up to which a constant's data stands in a digest as it is; of longer data its hash does."""


def equal(left: Node, right: Node) -> bool:
    """Whether two programs, or two parts of one kind, have the same structure."""
    return all(a == b for a, b in zip_longest(_items(left), _items(right)))


def digest(node: Node) -> str:
    """Return 32 hex digits that are equal for equal structures, in every process."""
    hashed = blake2b(digest_size=16)
    texts: dict[Hashable, str] = {}
    for item in _items(node):
        hashed.update("\0".join([_text(part, texts) for part in item]).encode())
        hashed.update(b"\n")
    return hashed.hexdigest()


def _text(part: Hashable, texts: dict[Hashable, str]) -> str:
    if isinstance(part, bytes) and len(part) > SHORT:
        return f"bytes {len(part)} {blake2b(part, digest_size=16).hexdigest()}"
    if isinstance(part, str | int | bytes | None):
        return repr(part)
    if isinstance(part, nodes.Var):
        return f"%{part.name!r}"
    if isinstance(part, tuple):
        return f"({','.join([_text(p, texts) for p in part])})"
    text = texts.get(part)
    if text is None:
        text = texts[part] = repr(part)
    return text


@final
class Fingerprints:
    """Fingerprints of one program after another, by which to see that none has changed.

    They compare with each other only. Data of constants is not read for them: bytes never change,
    and those that were met are kept, so the same object is the same data.
    """

    def __init__(self) -> None:
        self._data: dict[int, tuple[bytes, int]] = {}

    def of(self, node: Node) -> int:
        found = 0
        for item in _items(node):
            if item[0] == "const":
                item = tuple([self._number(p) if isinstance(p, bytes) else p for p in item])
            found = hash((found, item))
        return found

    def _number(self, data: bytes) -> int:
        return self._data.setdefault(id(data), (data, len(self._data)))[1]


def _items(node: Node) -> Iterator[Item]:
    match node:
        case nodes.Module():
            yield from _module(node)
        case nodes.Function():
            yield from _function(node)
        case nodes.Block():
            yield from _flatten(iter((node,)), {})
        case TensorType() | ShapeType() | TupleType() | FunctionType() | AdtType():
            yield (node,)
        case _:
            yield from _flatten(_expr(node, {}), {})


def _module(module: nodes.Module) -> Iterator[Item]:
    yield ("module", module.version, len(module.adts), len(module.functions), *module.vdevices)
    for adt in module.adts:
        yield ("type", adt.name, adt.params, *((c.name, *c.fields) for c in adt.constructors))
    for function in module.functions:
        yield from _function(function)


def _function(function: nodes.Function) -> Iterator[Item]:
    numbers: _Numbers = {}
    yield (
        *("fn", function.name, _bind(function.params, numbers), function.result),
        *(function.bounds, function.attrs, tuple(sorted(function.donated))),
    )
    yield from _flatten(iter((function.body,)), numbers)


def _flatten(nested: Iterator[_Nested], numbers: _Numbers) -> Iterator[Item]:
    """Yield the items of ``nested``, those of a block where it stands."""
    stack = [nested]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, nodes.Block):
            stack.append(_block(item, numbers))
        else:
            yield item


def _block(block: nodes.Block, numbers: _Numbers) -> Iterator[_Nested]:
    for statement in block.statements:
        if isinstance(statement, nodes.Binding):
            yield from _bindings((statement,), numbers)
            continue
        yield ("dataflow",)
        yield from _bindings(statement.bindings, numbers)
        yield ("output", _read(statement.outputs, numbers))
    yield ("result", numbers.get(block.result, block.result))


def _bindings(bindings: tuple[nodes.Binding, ...], numbers: _Numbers) -> Iterator[_Nested]:
    for binding in bindings:
        yield from _expr(binding.value, numbers)
        numbers[binding.var] = len(numbers)
        yield ("=", binding.var.type, binding.request)


def _bind(variables: tuple[nodes.Var, ...], numbers: _Numbers) -> Item:
    """Number variables that are bound here, and return their types."""
    for var in variables:
        numbers[var] = len(numbers)
    return tuple([var.type for var in variables])


def _read(operands: tuple[nodes.Operand, ...], numbers: _Numbers) -> Item:
    return tuple([numbers.get(o, o) if isinstance(o, nodes.Var) else o for o in operands])


def _expr(expr: nodes.Expr, numbers: _Numbers) -> Iterator[_Nested]:
    item = _plain(expr, numbers)
    if item is not None:
        yield item
    else:
        assert isinstance(expr, nodes.If | nodes.Match | nodes.Closure)
        yield from _with_regions(expr, numbers)


def _plain(expr: nodes.Expr, numbers: _Numbers) -> Item | None:
    """Return the item of an expression that has no regions; ``None`` for one that has."""
    match expr:
        case nodes.Call(op=op, args=args, attrs=attrs):
            return ("call", op, _read(args, numbers), attrs)
        case nodes.Invoke(callee=callee, args=args, attrs=attrs):
            return ("invoke", _read((callee, *args), numbers), attrs)
        case nodes.Construct(constructor=name, args=items):
            return ("construct", name, _read(items, numbers))
        case nodes.MakeTuple(items=items):
            return ("tuple", _read(items, numbers))
        case nodes.Alias(var=var):
            return ("alias", numbers.get(var, var))
        case nodes.Project(tuple=var, index=index):
            return ("project", numbers.get(var, var), index)
        case nodes.FunctionValue(ref=ref):
            return ("function", ref)
        case nodes.Constant(dtype=dtype, shape=shape, data=data, packed=packed):
            return ("const", dtype, shape, data, packed)
        case nodes.Weight(dtype=dtype, shape=shape, file=file, key=key, packed=packed):
            return ("weight", dtype, shape, file, key, packed)
        case nodes.ShapeLiteral(dims=dims):
            return ("shape", dims)
        case _:
            return None


def _with_regions(expr: nodes.If | nodes.Match | nodes.Closure, numbers: _Numbers) -> Iterator[Any]:
    match expr:
        case nodes.If(condition=condition, then=then, orelse=orelse):
            yield ("if", numbers.get(condition, condition))
            yield then
            yield orelse
        case nodes.Match(scrutinee=scrutinee, arms=arms):
            yield ("match", numbers.get(scrutinee, scrutinee), len(arms))
            for arm in arms:
                yield _pattern(arm.pattern, numbers)
                yield arm.body
        case nodes.Closure(params=params, result=result, body=body):
            yield ("closure", _bind(params, numbers), result)
            yield body


def _pattern(pattern: nodes.Pattern, numbers: _Numbers) -> Item:
    """Return ``pattern`` in pre-order, and number what it binds."""
    parts: list[Hashable] = []
    stack = [pattern]
    while stack:
        match stack.pop():
            case nodes.Wildcard():
                parts.append("_")
            case nodes.BindPattern(var=var):
                numbers[var] = len(numbers)
                parts.append("%")
            case nodes.ConstructorPattern(constructor=name, items=items):
                parts.extend((name, len(items)))
                stack.extend(reversed(items))
            case nodes.TuplePattern(items=items):
                parts.extend(("()", len(items)))
                stack.extend(reversed(items))
    return tuple(parts)
