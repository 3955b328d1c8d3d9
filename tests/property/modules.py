"""Modules for properties of the language: any that the text can say, well formed or not.

Every variable that is read was bound earlier in the function; nothing else is promised.
"""

from __future__ import annotations

import math

from hypothesis import strategies as st

from reference_vm.ir import nodes
from reference_vm.text.lexer import WORDS
from reference_vm.types import (
    DTYPES,
    UNKNOWN,
    AdtType,
    Attrs,
    AttrValue,
    DeviceName,
    Dim,
    DType,
    FunctionType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    VirtualDevice,
)
from reference_vm.types.dim import FUNCTIONS, add, apply, multiply, subtract, symbol

RESERVED = {*WORDS, *DTYPES}
TEXTS = st.text(max_size=6) | st.sampled_from(["x", "x.1", "x.2", "y", "a b", 'q"', "é", "%s", ""])
OPERATORS = st.from_regex(r"[a-z_][a-z0-9_]{0,4}(\.[a-z_]{1,3})?", fullmatch=True).filter(
    lambda name: name not in RESERVED
)
CAPITALS = st.sampled_from(["List", "Nil", "Cons", "T", "Pair"])
SYMBOLS = st.sampled_from(["n", "m", "k.l", "N"])
VDEVICES = st.lists(
    st.builds(
        VirtualDevice,
        TEXTS,
        st.none() | st.builds(DeviceName, st.sampled_from(["cpu", "sim"]), st.integers(0, 3)),
        st.just("global") | TEXTS,
    ),
    min_size=1,
    max_size=3,
    unique_by=(lambda v: v.role, lambda v: (v.device or v.role, v.scope)),
)


def dims() -> st.SearchStrategy[Dim]:
    small: st.SearchStrategy[Dim] = st.integers(0, 9) | SYMBOLS.map(symbol) | st.just(UNKNOWN)

    def grown(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
        pairs = st.tuples(inner, inner)
        functions = st.tuples(st.sampled_from(FUNCTIONS), inner, inner | st.integers(1, 4))
        return (
            pairs.map(lambda p: add(*p))
            | pairs.map(lambda p: subtract(*p))
            | pairs.map(lambda p: multiply(*p))
            | functions.filter(lambda f: f[2] != 0).map(lambda f: apply(*f))
        )

    return st.recursive(small, grown, max_leaves=5)


SHAPES = st.none() | st.lists(dims(), max_size=3).map(tuple)
TENSOR_SHAPES = SHAPES.filter(
    lambda s: s is None or not any(isinstance(d, int) and d < 0 for d in s)
)


def types(vdevices: list[VirtualDevice]) -> st.SearchStrategy[Type]:
    places = st.none() | st.sampled_from(vdevices)
    small: st.SearchStrategy[Type] = (
        st.builds(
            TensorType, st.sampled_from(sorted(DTYPES.values(), key=str)), TENSOR_SHAPES, places
        )
        | st.builds(ShapeType, SHAPES)
        | st.builds(AdtType, CAPITALS)
    )

    def grown(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
        several = st.lists(inner, max_size=2).map(tuple)
        return (
            st.builds(TupleType, several)
            | st.builds(FunctionType, several, inner)
            | st.builds(AdtType, CAPITALS, several)
        )

    return st.recursive(small, grown, max_leaves=4)


def values() -> st.SearchStrategy[AttrValue]:
    known: st.SearchStrategy[AttrValue] = dims().filter(lambda d: d is not UNKNOWN)  # type: ignore[assignment]
    small: st.SearchStrategy[AttrValue] = (
        st.booleans()
        | st.none()
        | st.floats()
        | st.text(max_size=4)
        | st.sampled_from([DTYPES["f32"], DTYPES["bool"]])
        | st.integers(-(2**64) + 1, 2**64 - 1)
        | known
    )
    return st.recursive(small, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


ATTRS = st.dictionaries(OPERATORS, values(), max_size=2).map(Attrs)


@st.composite
def constants(draw: st.DrawFn) -> nodes.Constant:
    """Any bits that are elements of their dtype."""
    dtype: DType = draw(st.sampled_from(sorted(DTYPES.values(), key=str)))
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=3)))
    size = math.prod(shape) * dtype.itemsize
    if dtype.is_bool:
        byte = st.integers(0, 1)
    elif dtype.bits < 8:
        byte = st.integers(dtype.minimum, dtype.maximum).map(lambda v: v % 256)
    else:
        byte = st.integers(0, 255)
    data = bytes(draw(st.lists(byte, min_size=size, max_size=size)))
    return nodes.Constant(dtype, shape, data)


class _Writer:
    """Draws the body of one function."""

    def __init__(self, draw: st.DrawFn, vdevices: list[VirtualDevice]) -> None:
        self.draw = draw
        self.types = types(vdevices)
        self.places = st.none() | st.sampled_from(vdevices)
        self.bound: list[nodes.Var] = []

    def var(self, *, typed: bool = False) -> nodes.Var:
        return nodes.Var(
            self.draw(TEXTS), self.draw(self.types if typed else st.none() | self.types)
        )

    def bind(self, var: nodes.Var) -> nodes.Var:
        self.bound.append(var)
        return var

    def params(self, least: int) -> tuple[nodes.Var, ...]:
        count = self.draw(st.integers(least, 2))
        return tuple(self.bind(self.var(typed=True)) for _ in range(count))

    def read(self) -> nodes.Var:
        return self.draw(st.sampled_from(self.bound))

    def reads(self, most: int = 3) -> tuple[nodes.Var, ...]:
        return tuple(self.draw(st.lists(st.sampled_from(self.bound), max_size=most)))

    def operands(self) -> tuple[nodes.Operand, ...]:
        refs = TEXTS.map(nodes.GlobalRef)
        return tuple(
            self.draw(st.lists(st.sampled_from(self.bound) | st.none() | refs, max_size=3))
        )

    def block(self, depth: int) -> nodes.Block:
        statements: list[nodes.Statement] = []
        for _ in range(self.draw(st.integers(0, 3))):
            if self.draw(st.integers(0, 4)) == 0:
                bindings = tuple(self.binding(depth) for _ in range(self.draw(st.integers(0, 2))))
                statements.append(nodes.Dataflow(bindings, self.reads()))
            else:
                statements.append(self.binding(depth))
        return nodes.Block(tuple(statements), self.read())

    def binding(self, depth: int) -> nodes.Binding:
        value = self.expr(depth)
        return nodes.Binding(self.bind(self.var()), value, self.draw(self.places))

    def expr(self, depth: int) -> nodes.Expr:
        kinds = ["call", "call", "invoke", "closure call", "construct", "tuple", "alias", "project"]
        kinds += ["function", "constant", "weight", "shape"]
        if depth < 2:
            kinds += ["if", "match", "closure"]
        kind = self.draw(st.sampled_from(kinds))
        return self.regions(kind, depth) if kind in ("if", "match", "closure") else self.flat(kind)

    def flat(self, kind: str) -> nodes.Expr:
        draw = self.draw
        match kind:
            case "call":
                return nodes.Call(draw(OPERATORS), self.operands(), draw(ATTRS))
            case "invoke":
                return nodes.Invoke(nodes.GlobalRef(draw(TEXTS)), self.operands(), draw(ATTRS))
            case "closure call":
                return nodes.Invoke(self.read(), self.operands())
            case "construct":
                return nodes.Construct(draw(CAPITALS), self.reads())
            case "tuple":
                return nodes.MakeTuple(self.reads())
            case "alias":
                return nodes.Alias(self.read())
            case "project":
                return nodes.Project(self.read(), draw(st.integers(0, 9)))
            case "function":
                return nodes.FunctionValue(nodes.GlobalRef(draw(TEXTS)))
            case "constant":
                return draw(constants())
            case "weight":
                return nodes.Weight(DTYPES["f32"], (2,), "w.safetensors", draw(TEXTS))
            case _:
                return nodes.ShapeLiteral(tuple(draw(st.lists(dims(), max_size=2))))

    def regions(self, kind: str, depth: int) -> nodes.Expr:
        read = self.read()
        if kind == "if":
            return nodes.If(read, self.block(depth + 1), self.block(depth + 1))
        if kind == "closure":
            params = self.params(0)
            return nodes.Closure(params, self.draw(self.types), self.block(depth + 1))
        count = self.draw(st.integers(1, 2))
        arms = tuple(nodes.Arm(self.pattern(0), self.block(depth + 1)) for _ in range(count))
        return nodes.Match(read, arms)

    def pattern(self, depth: int) -> nodes.Pattern:
        kind = self.draw(st.integers(0, 3 if depth < 2 else 1))
        if kind == 0:
            return nodes.Wildcard()
        if kind == 1:
            return nodes.BindPattern(self.bind(nodes.Var(self.draw(TEXTS))))
        count = self.draw(st.integers(1 if kind == 3 else 0, 2))
        items = tuple(self.pattern(depth + 1) for _ in range(count))
        if kind == 2:
            return nodes.ConstructorPattern(self.draw(CAPITALS), items)
        return nodes.TuplePattern(items)


@st.composite
def functions(draw: st.DrawFn, vdevices: list[VirtualDevice]) -> nodes.Function:
    writer = _Writer(draw, vdevices)
    params = writer.params(1)
    bounds = st.builds(nodes.Bound, SYMBOLS, st.integers(0, 9), st.none() | st.integers(0, 99))
    return nodes.Function(
        name=draw(TEXTS),
        params=params,
        result=draw(writer.types),
        body=writer.block(0),
        bounds=tuple(draw(st.lists(bounds, max_size=2))),
        attrs=draw(ATTRS),
        donated=frozenset(draw(st.sets(st.integers(0, len(params) - 1)))),
    )


@st.composite
def modules(draw: st.DrawFn) -> nodes.Module:
    vdevices = draw(VDEVICES)
    fields = st.lists(types(vdevices), max_size=2).map(tuple)
    adts = st.builds(
        nodes.Adt,
        CAPITALS,
        st.lists(CAPITALS, max_size=2).map(tuple),
        st.lists(st.builds(nodes.Constructor, CAPITALS, fields), min_size=1, max_size=2).map(tuple),
    )
    return nodes.Module(
        vdevices=tuple(vdevices),
        adts=tuple(draw(st.lists(adts, max_size=1))),
        functions=tuple(draw(st.lists(functions(vdevices), max_size=2))),
    )
