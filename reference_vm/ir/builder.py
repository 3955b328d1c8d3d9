"""Programs made from Python, without text.

>>> f = FunctionBuilder("main")
>>> x = f.param("x", TensorType(F32, (4,)))
>>> y = f.body.call("exp", x)
>>> function = f.finish(f.body.call("add", x, y), TensorType(F32, (4,)))

is ``fn @main(%x: f32[4]) -> f32[4] { %exp = exp(%x)  %add = add(%x, %exp)  return %add }``. Nothing
is checked and no type is inferred: that is for `ir.verify` and ``infer-types``. The methods of
`BlockBuilder` add one binding each and return its variable, which is called ``name``, or after its
operator, with a number where the function has that name already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.ir import nodes
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import Block, Operand, Var
from reference_vm.types import (
    NO_ATTRS,
    Attrs,
    AttrValue,
    DeviceName,
    DType,
    Shape,
    Type,
    VirtualDevice,
)
from reference_vm.types.device import GLOBAL_SCOPE
from reference_vm.types.elements import Element, encode


@final
@dataclass(slots=True)
class BlockBuilder:
    """The statements of one block, so far."""

    names: FreshNames
    statements: list[nodes.Statement] = field(default_factory=list)

    def binding(
        self,
        value: nodes.Expr,
        name: str,
        type_: Type | None = None,
        on: VirtualDevice | None = None,
    ) -> Var:
        """Add ``%name: type = value @on`` and return the variable."""
        var = Var(self.names.fresh(name), type_)
        self.statements.append(nodes.Binding(var, value, on))
        return var

    def call(
        self,
        op: str,
        *args: Operand,
        name: str | None = None,
        type_: Type | None = None,
        on: VirtualDevice | None = None,
        **attrs: AttrValue,
    ) -> Var:
        """Add a call of an operator."""
        value = nodes.Call(op, args, Attrs(attrs))
        return self.binding(value, name or op, type_, on)

    def invoke(
        self,
        callee: str | Var,
        *args: Operand,
        name: str | None = None,
        type_: Type | None = None,
        on: VirtualDevice | None = None,
    ) -> Var:
        """Add a call of a function of the module, by name, or of a closure."""
        target = callee if isinstance(callee, Var) else nodes.GlobalRef(callee)
        called = callee.name if isinstance(callee, Var) else callee
        return self.binding(nodes.Invoke(target, args), name or called, type_, on)

    def construct(self, constructor: str, *args: Var, type_: Type | None = None) -> Var:
        """Add a value of an algebraic data type."""
        return self.binding(nodes.Construct(constructor, args), constructor.lower(), type_)

    def constant(
        self,
        dtype: DType,
        shape: Sequence[int],
        values: Iterable[Element],
        name: str = "const",
        on: VirtualDevice | None = None,
    ) -> Var:
        """Add a constant; ``values`` are its elements in row-major order.

        Raises:
            OverflowError: A value is beyond the range of ``dtype``.
        """
        return self.binding(
            nodes.Constant(dtype, tuple(shape), encode(dtype, values)), name, None, on
        )

    def weight(self, dtype: DType, shape: Sequence[int], file: str, key: str) -> Var:
        """Add a constant that is read from a weights file."""
        return self.binding(nodes.Weight(dtype, tuple(shape), file, key), key)

    def shape(self, dims: Shape, name: str = "shape") -> Var:
        """Add a shape value."""
        return self.binding(nodes.ShapeLiteral(dims), name)

    def tuple_(self, *items: Var, name: str = "tuple") -> Var:
        """Add a tuple."""
        return self.binding(nodes.MakeTuple(items), name)

    def project(self, tuple_: Var, index: int, name: str | None = None) -> Var:
        """Add one item of a tuple."""
        return self.binding(nodes.Project(tuple_, index), name or f"{tuple_.name}.{index}")

    def alias(self, var: Var, name: str) -> Var:
        """Add another name for a value."""
        return self.binding(nodes.Alias(var), name)

    def function_value(self, function: str) -> Var:
        """Add a function of the module as a value."""
        return self.binding(nodes.FunctionValue(nodes.GlobalRef(function)), function)

    def if_(
        self,
        condition: Var,
        then: BlockOf,
        orelse: BlockOf,
        name: str = "if",
        type_: Type | None = None,
    ) -> Var:
        """Add a choice; each branch is a function from its own builder to its result."""
        value = nodes.If(condition, self._block(then), self._block(orelse))
        return self.binding(value, name, type_)

    def match(
        self, scrutinee: Var, *arms: tuple[nodes.Pattern, BlockOf], name: str = "match"
    ) -> Var:
        """Add a choice by pattern; make what a pattern binds with `variable`."""
        built = tuple(nodes.Arm(pattern, self._block(body)) for pattern, body in arms)
        return self.binding(nodes.Match(scrutinee, built), name)

    def closure(
        self, params: Sequence[Var], result: Type, body: BlockOf, name: str = "closure"
    ) -> Var:
        """Add a function written in place; make its parameters with `variable`."""
        return self.binding(nodes.Closure(tuple(params), result, self._block(body)), name)

    def variable(self, name: str, type_: Type | None = None) -> Var:
        """Return a variable that a pattern or a closure's signature binds."""
        return Var(self.names.fresh(name), type_)

    def _block(self, build: BlockOf) -> Block:
        inner = BlockBuilder(self.names)
        result = build(inner)
        return Block(tuple(inner.statements), result)


BlockOf: TypeAlias = Callable[[BlockBuilder], Var]
"""Fills a block and returns its result."""


@final
@dataclass(slots=True)
class FunctionBuilder:
    """A function, so far."""

    name: str
    attrs: Attrs = NO_ATTRS
    params: list[Var] = field(default_factory=list)
    donated: set[int] = field(default_factory=set)
    body: BlockBuilder = field(default_factory=lambda: BlockBuilder(FreshNames()))

    def param(self, name: str, type_: Type, donate: bool = False) -> Var:
        """Add a parameter."""
        var = self.body.variable(name, type_)
        if donate:
            self.donated.add(len(self.params))
        self.params.append(var)
        return var

    def finish(
        self, returned: Var, result: Type, bounds: Sequence[nodes.Bound] = ()
    ) -> nodes.Function:
        """Return the function, which returns ``returned``."""
        return nodes.Function(
            name=self.name,
            params=tuple(self.params),
            result=result,
            body=Block(tuple(self.body.statements), returned),
            bounds=tuple(bounds),
            attrs=self.attrs,
            donated=frozenset(self.donated),
        )


@final
@dataclass(slots=True)
class ModuleBuilder:
    """A module, so far."""

    vdevices: list[VirtualDevice] = field(default_factory=list)
    adts: list[nodes.Adt] = field(default_factory=list)
    functions: list[nodes.Function] = field(default_factory=list)

    def vdevice(
        self, role: str, device: DeviceName | None = None, scope: str = GLOBAL_SCOPE
    ) -> VirtualDevice:
        """Declare a role and return it, to place types and calls on."""
        self.vdevices.append(VirtualDevice(role, device, scope))
        return self.vdevices[-1]

    def adt(
        self, name: str, constructors: Mapping[str, Sequence[Type]], params: Sequence[str] = ()
    ) -> None:
        """Declare an algebraic data type: its constructors with the types of their fields."""
        made = tuple(nodes.Constructor(c, tuple(fields)) for c, fields in constructors.items())
        self.adts.append(nodes.Adt(name, tuple(params), made))

    def add(self, function: nodes.Function) -> None:
        """Add a function."""
        self.functions.append(function)

    def finish(self) -> nodes.Module:
        """Return the module."""
        return nodes.Module(tuple(self.vdevices), tuple(self.adts), tuple(self.functions))
