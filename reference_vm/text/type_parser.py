"""Types and dims from tokens."""

from __future__ import annotations

from typing import Final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.trampoline import Steps, run
from reference_vm.text.cursor import Cursor
from reference_vm.types import (
    DTYPES,
    UNKNOWN,
    AdtType,
    Dim,
    FunctionType,
    Shape,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    Unknown,
)
from reference_vm.types.dim import FUNCTIONS, add, apply, multiply, subtract, symbol

MAX_TYPE_DEPTH: Final = 100
"""How deep types may nest."""

MAX_DIM_DEPTH: Final = 32
"""How deep parentheses and functions may nest in a dim."""

_DIM_ENDS: Final = frozenset({",", "]", ")"})

TYPE: Final = "a type such as f32[n, 4]"


def parse_type(c: Cursor) -> Type:
    """Read a type."""
    kind = c.kinds[c.at]
    if kind == "DTYPE":
        return _tensor(c)
    if kind == "shape":
        return _shape_type(c)
    return run(_nested(c, 1))


def _tensor(c: Cursor) -> TensorType:
    """Read a tensor type; one that was written so before is that value again."""
    first = c.at
    try:
        end = c.kinds.index("]", first) + 1
    except ValueError:
        return _new_tensor(c)
    if c.kinds[end] == "GLOBAL":
        end += 1
    written = c.source.text[c.starts[first] : c.starts[end]].rstrip()
    known = c.tensors.get(written)
    if known is not None:
        c.at = end
        return known
    noted = len(c.found)
    type_ = _new_tensor(c)
    if len(c.found) == noted:
        c.tensors[written] = type_
    return type_


def _new_tensor(c: Cursor) -> TensorType:
    dtype = DTYPES[c.take("DTYPE")]
    first = c.at
    shape = parse_dims(c)
    if shape is not None and any(isinstance(d, int) and d < 0 for d in shape):
        c.note(catalog.invalid_dim("a dim of a tensor is negative", c.since(first)))
    return TensorType(dtype, shape, c.role() if c.kind == "GLOBAL" else None)


def _shape_type(c: Cursor) -> ShapeType:
    c.take("shape")
    return ShapeType(parse_dims(c))


def _nested(c: Cursor, depth: int) -> Steps[Type]:
    """Read any type; those inside it are read by nested steps."""
    if depth > MAX_TYPE_DEPTH:
        raise CompileError(catalog.text_nests_too_deep("types", MAX_TYPE_DEPTH, c.span(c.at)))
    if c.kind == "DTYPE":
        return _tensor(c)
    if c.kind == "shape":
        return _shape_type(c)
    if c.kind == "UNAME":
        name = c.take("UNAME")
        args: list[Type] = (yield _list(c, "[", "]", depth)) if c.kind == "[" else []
        return AdtType(name, tuple(args))
    if c.kind != "(":
        raise c.error(TYPE)
    items: list[Type] = yield _list(c, "(", ")", depth)
    if not c.accept("->"):
        return TupleType(tuple(items))
    result: Type = yield _nested(c, depth + 1)
    return FunctionType(tuple(items), result)


def _list(c: Cursor, opening: str, closing: str, depth: int) -> Steps[list[Type]]:
    """Read types between brackets; parentheses may be empty and may end in a comma."""
    round_ = opening == "("
    c.take(opening)
    items: list[Type] = []
    if round_ and c.accept(closing):
        return items
    while True:
        item: Type = yield _nested(c, depth + 1)
        items.append(item)
        if not c.accept(","):
            break
        if round_ and c.kind == closing:
            break
    c.take(closing, f"`,` or `{closing}`")
    return items


def parse_dims(c: Cursor) -> Shape | None:
    """Read ``[...]``, which gives ``None``, or ``[n, 4]``."""
    c.take("[")
    if c.accept("..."):
        c.take("]")
        return None
    return parse_dim_list(c)


def parse_dim_list(c: Cursor) -> Shape:
    """Read dims up to and with the closing bracket; the opening one is behind."""
    dims: list[Dim] = []
    if c.accept("]"):
        return ()
    while True:
        dims.append(parse_dim(c))
        if not c.accept(","):
            break
    c.take("]", "`,` or `]`")
    return tuple(dims)


def parse_dim(c: Cursor) -> Dim:
    """Read a dim such as ``4*n + 1``."""
    if c.kinds[c.at] == "INT" and c.kinds[c.at + 1] in _DIM_ENDS:
        return c.integer("a dim")
    return _sum(c, 1)


def _sum(c: Cursor, depth: int) -> Dim:
    first = c.at
    dim = _product(c, depth)
    while c.kind in ("+", "-"):
        combine = add if c.take(c.kind) == "+" else subtract
        right = _product(c, depth)
        dim = _checked(c, combine(dim, right), (dim, right), first)
    return dim


def _product(c: Cursor, depth: int) -> Dim:
    first = c.at
    dim = _factor(c, depth)
    while c.accept("*"):
        right = _factor(c, depth)
        dim = _checked(c, multiply(dim, right), (dim, right), first)
    return dim


def _factor(c: Cursor, depth: int) -> Dim:
    negative = False
    while c.accept("-"):
        negative = not negative
    dim = _atom(c, depth)
    return multiply(-1, dim) if negative else dim


def _atom(c: Cursor, depth: int) -> Dim:
    if depth > MAX_DIM_DEPTH:
        raise CompileError(catalog.text_nests_too_deep("dims", MAX_DIM_DEPTH, c.span(c.at)))
    if c.kind == "INT":
        return c.integer("a dim")
    if c.accept("?"):
        return UNKNOWN
    if c.accept("("):
        dim = _sum(c, depth + 1)
        c.take(")")
        return dim
    if c.kind not in ("NAME", "UNAME"):
        raise c.error("a dim: a number, a symbol or `?`")
    name = c.take(c.kind)
    return _applied(c, name, depth) if c.kind == "(" else symbol(name)


def _applied(c: Cursor, function: str, depth: int) -> Dim:
    """Read the two operands of a function, whose name is behind."""
    first = c.at - 1
    c.take("(")
    left = _sum(c, depth + 1)
    c.take(",")
    right = _sum(c, depth + 1)
    c.take(")")
    if function not in FUNCTIONS:
        known = ", ".join(FUNCTIONS)
        c.note(catalog.invalid_dim(f"{function} is no function of dims: {known}", c.since(first)))
        return UNKNOWN
    if right == 0 and function not in ("min", "max"):
        c.note(catalog.invalid_dim(f"{function} by 0", c.since(first)))
        return UNKNOWN
    return _checked(c, apply(function, left, right), (left, right), first)


def _checked(c: Cursor, dim: Dim, made_of: tuple[Dim, Dim], first: int) -> Dim:
    """Return ``dim``; one that is too large to work with is noted and unknown."""
    if isinstance(dim, Unknown):
        if UNKNOWN not in made_of:
            c.note(catalog.invalid_dim("a dim has too many terms", c.since(first)))
        return dim
    factors = [dim] if isinstance(dim, int) else [factor for _, factor in dim.terms]
    if max(map(abs, factors)) < 1 << 64:
        return dim
    c.note(catalog.invalid_dim("a number in a dim is 2^64 or more", c.since(first)))
    return UNKNOWN
