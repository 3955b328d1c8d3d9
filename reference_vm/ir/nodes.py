"""The nodes of the IR.

A function body is a block: a list of bindings and a result. Each binding names the value of one
expression, and expressions take only names as operands, so that every intermediate value has a
type, a virtual device and a place in the trace. ``if`` and ``match`` hold blocks of their own.

Two rules say when nodes are equal:

* a *value* (a type, a virtual device, an attribute, a constant) is equal by content: two parses
  of ``@accel`` are one device;
* a *name* (`Var`) is equal to itself only: two variables called ``%x`` are two variables.

To compare functions or modules up to the names of their variables, use `structural.equal`.
Spans never count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias, Union, final

from reference_vm.source import Span
from reference_vm.types import (
    NO_ATTRS,
    Attrs,
    DeviceName,
    DType,
    Shape,
    TensorType,
    Type,
    VirtualDevice,
)
from reference_vm.types.device import GLOBAL_SCOPE


@final
@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A variable, bound once."""

    name: str
    """Without its sigil; not quoted. Need not be unique: the printer makes it so."""

    type: Type | None = None
    """Known for parameters, and for all after ``infer-types``."""

    span: Span | None = field(default=None, repr=False)
    source: str | None = field(default=None, repr=False)
    """The variable of the program as written, ``main/%x``, set by ``infer-types`` and kept through
    all rewriting; ``None`` for one that a pass made."""

    node: str | None = field(default=None, repr=False)
    """The name of the ONNX node that it was translated from, kept until devices are requested by
    name; the text form does not have it."""

    @property
    def tensor(self) -> TensorType:
        """The type, of a variable known to be a tensor."""
        assert isinstance(self.type, TensorType), f"%{self.name} is no tensor: {self.type}"
        return self.type

    @property
    def vdevice(self) -> VirtualDevice:
        """The device the value lives on; only a placed module has one for every tensor."""
        assert self.tensor.vdevice is not None, f"%{self.name} is not placed yet"
        return self.tensor.vdevice


@final
@dataclass(frozen=True, slots=True)
class GlobalRef:
    """A function of the module, by name: as an operand or an expression.

    The field is not called ``name``, as that of a `Var` is: ``%f`` and ``@f`` are two things, and
    whoever takes the name of a callee or an operand has to say of which.
    """

    function: str


Operand: TypeAlias = Union[Var, GlobalRef, None]
"""A variable, a function by name, or ``None`` for an optional operand left out."""


@final
@dataclass(frozen=True, slots=True)
class Call:
    """An operator applied to operands: ``sum(%a, axis = 1)``.

    The operator is named, not held: the IR knows no operator. Look the name up in the table that
    a pass is given, ``ctx.ops[call.op]``.
    """

    op: str
    args: tuple[Operand, ...]
    attrs: Attrs = NO_ATTRS
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Invoke:
    """A call of a function of the module, or of a closure: ``@f(%x)``, ``%f(%x)``."""

    callee: GlobalRef | Var
    args: tuple[Operand, ...]
    attrs: Attrs = NO_ATTRS
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Construct:
    """A constructor of an algebraic data type applied: ``Cons(%x, %rest)``."""

    constructor: str
    args: tuple[Var, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Alias:
    """Another name for a value: ``%y = %x``."""

    var: Var
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function of the module as a value: ``%f = @f``."""

    ref: GlobalRef
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class MakeTuple:
    """``(%a, %b)``."""

    items: tuple[Var, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Project:
    """One item of a tuple: ``%t[0]``."""

    tuple: Var
    index: int
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor known at compile time: ``const f32[2] [1.0, 2.0]``."""

    dtype: DType
    shape: tuple[int, ...]
    data: bytes = field(repr=False)
    """Elements in row-major order, little-endian, `DType.itemsize` bytes each."""

    packed: bool = False
    """Whether it lies in panels once it is loaded (`jit.panels`): a matrix that kernels want so."""

    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor in a weights file beside the module.

    Written ``const f32[2] from "w.safetensors" "bias"``.
    """

    dtype: DType
    shape: tuple[int, ...]
    file: str
    key: str
    packed: bool = False
    """As of a `Constant`."""

    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class ShapeLiteral:
    """A shape value: ``shape [n, 4]``."""

    dims: Shape
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class If:
    """``if %c { … yield %a } else { … yield %b }``; the condition is read on the host."""

    condition: Var
    then: Block
    orelse: Block
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Wildcard:
    """``_``: matches anything."""


@final
@dataclass(frozen=True, slots=True)
class BindPattern:
    """``%x``: matches anything and names it."""

    var: Var


@final
@dataclass(frozen=True, slots=True)
class ConstructorPattern:
    """``Cons(%x, _)``."""

    constructor: str
    items: tuple[Pattern, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class TuplePattern:
    """``(%a, _)``."""

    items: tuple[Pattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Pattern: TypeAlias = Union[Wildcard, BindPattern, ConstructorPattern, TuplePattern]


@final
@dataclass(frozen=True, slots=True)
class Arm:
    """``Cons(%x, _) => { … yield %x }``."""

    pattern: Pattern
    body: Block
    span: Span | None = field(default=None, compare=False, repr=False)
    """Where the pattern was written."""


@final
@dataclass(frozen=True, slots=True)
class Match:
    """Choice by the shape of an algebraic value; arms are tried in order."""

    scrutinee: Var
    arms: tuple[Arm, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Closure:
    """A function written in place; it may read variables of the functions around it."""

    params: tuple[Var, ...]
    result: Type
    body: Block
    span: Span | None = field(default=None, compare=False, repr=False)


Expr: TypeAlias = Union[
    Call,
    Invoke,
    Construct,
    Alias,
    FunctionValue,
    MakeTuple,
    Project,
    Constant,
    Weight,
    ShapeLiteral,
    If,
    Match,
    Closure,
]


@final
@dataclass(frozen=True, slots=True)
class Binding:
    """``%x: type = value @role``."""

    var: Var
    value: Expr
    request: VirtualDevice | None = None
    """The placement suffix, as written: where the operator runs, or what `language.md` 2 says."""


@final
@dataclass(frozen=True, slots=True)
class Dataflow:
    """A dataflow block: pure bindings, of which only ``outputs`` are visible after it."""

    bindings: tuple[Binding, ...]
    outputs: tuple[Var, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Statement: TypeAlias = Union[Binding, Dataflow]


@final
@dataclass(frozen=True, slots=True)
class Block:
    """Statements, then the variable whose value is the block's."""

    statements: tuple[Statement, ...]
    result: Var
    span: Span | None = field(default=None, compare=False, repr=False)
    """Where the result was written."""

    def bindings(self) -> Iterator[Binding]:
        """Yield this block's own bindings, those of dataflow blocks included, in order."""
        for statement in self.statements:
            if isinstance(statement, Binding):
                yield statement
            else:
                yield from statement.bindings


@final
@dataclass(frozen=True, slots=True)
class Bound:
    """The range of a symbol: ``bounds n in 1..512``."""

    symbol: str
    lower: int = 0
    upper: int | None = None
    """Inclusive; ``None`` when there is none."""


@final
@dataclass(frozen=True, slots=True)
class Function:
    """A function of the module."""

    name: str
    params: tuple[Var, ...]
    result: Type
    body: Block
    bounds: tuple[Bound, ...] = ()
    attrs: Attrs = NO_ATTRS
    """``entry``, ``pure``, ``primitive`` and what passes note."""

    donated: frozenset[int] = frozenset()
    """Positions of the parameters marked ``donate``."""

    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def is_primitive(self) -> bool:
        """Whether this is a part of a program that a pass cut out, to become one kernel."""
        return self.attrs.get("primitive") is True


@final
@dataclass(frozen=True, slots=True)
class Constructor:
    """One way to make a value of an algebraic data type."""

    name: str
    fields: tuple[Type, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Adt:
    """An algebraic data type: ``type List[T] { Nil, Cons(T, List[T]) }``."""

    name: str
    params: tuple[str, ...]
    constructors: tuple[Constructor, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True)
class Module:
    """A program: roles, data types and functions, each in the order of declaration."""

    vdevices: tuple[VirtualDevice, ...] = ()
    adts: tuple[Adt, ...] = ()
    functions: tuple[Function, ...] = ()
    version: int = 1

    @cached_property
    def by_name(self) -> Mapping[str, Function]:
        return {f.name: f for f in self.functions}

    @property
    def entries(self) -> tuple[Function, ...]:
        """The functions that can be run: those with ``entry = true``, or all if none has it."""
        marked = tuple(f for f in self.functions if f.attrs.get("entry") is True)
        return marked or self.functions

    def vdevice(
        self, role: str, device: DeviceName | None = None, scope: str = GLOBAL_SCOPE
    ) -> VirtualDevice:
        """Return the declared virtual device called ``role``, or one of that content."""
        for declared in self.vdevices:
            if declared.role == role:
                return declared
        return VirtualDevice(role, device, scope)

    def with_functions(self, functions: Sequence[Function]) -> Module:
        return replace(self, functions=tuple(functions))


def operands(expr: Expr) -> tuple[Var, ...]:
    """Return the variables that ``expr`` reads itself, not those that its blocks read."""
    match expr:
        case Call(args=args):
            return tuple(a for a in args if isinstance(a, Var))
        case Invoke(callee=callee, args=args):
            read = tuple(a for a in args if isinstance(a, Var))
            return (callee, *read) if isinstance(callee, Var) else read
        case Construct(args=items) | MakeTuple(items=items):
            return items
        case Alias(var=var) | Project(tuple=var) | If(condition=var) | Match(scrutinee=var):
            return (var,)
        case FunctionValue() | Constant() | Weight() | ShapeLiteral() | Closure():
            return ()


def with_operands(expr: Expr, variables: Mapping[Var, Var]) -> Expr:
    """Return ``expr`` reading ``variables[v]`` in place of each ``v`` that is a key.

    The blocks inside are left as they are.
    """

    def new(operand: Operand) -> Operand:
        return variables.get(operand, operand) if isinstance(operand, Var) else operand

    def var(operand: Var) -> Var:
        return variables.get(operand, operand)

    match expr:
        case Call(args=args):
            return replace(expr, args=tuple(map(new, args)))
        case Invoke(callee=callee, args=args):
            target = var(callee) if isinstance(callee, Var) else callee
            return replace(expr, callee=target, args=tuple(map(new, args)))
        case Construct(args=items):
            return replace(expr, args=tuple(map(var, items)))
        case MakeTuple(items=items):
            return replace(expr, items=tuple(map(var, items)))
        case Alias(var=source):
            return replace(expr, var=var(source))
        case Project(tuple=source):
            return replace(expr, tuple=var(source))
        case If(condition=source):
            return replace(expr, condition=var(source))
        case Match(scrutinee=source):
            return replace(expr, scrutinee=var(source))
        case FunctionValue() | Constant() | Weight() | ShapeLiteral() | Closure():
            return expr


def blocks(expr: Expr) -> tuple[Block, ...]:
    """Return the blocks directly inside ``expr``, in order."""
    match expr:
        case If(then=then, orelse=orelse):
            return (then, orelse)
        case Match(arms=arms):
            return tuple(arm.body for arm in arms)
        case Closure(body=body):
            return (body,)
        case _:
            return ()


def with_blocks(expr: Expr, new: Sequence[Block]) -> Expr:
    """Return ``expr`` with the blocks that `blocks` lists replaced, in that order."""
    match expr:
        case If():
            then, orelse = new
            return replace(expr, then=then, orelse=orelse)
        case Match(arms=arms):
            return replace(
                expr, arms=tuple(replace(a, body=b) for a, b in zip(arms, new, strict=True))
            )
        case Closure():
            (body,) = new
            return replace(expr, body=body)
        case _:
            return expr
