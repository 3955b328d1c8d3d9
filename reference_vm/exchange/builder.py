"""Builds a block call by call, and knows each variable's type as soon as it is made.

ONNX decides by rank, dtype and known contents what a node means; so translation and type inference
go hand in hand. Names are only noted while building: `Names.given` maps a variable to the name
that it gets in the end (`finish.finished`), since a node's result is known by name only after the
last call of its translation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt

from reference_vm.diagnostics import CompileError
from reference_vm.exchange.refusals import invalid, located
from reference_vm.exchange.value_types import Symbols
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Call,
    Constant,
    Expr,
    Function,
    GlobalRef,
    If,
    Invoke,
    MakeTuple,
    Operand,
    Project,
    ShapeLiteral,
    Var,
)
from reference_vm.ops.definition import Content, OpDef
from reference_vm.ops.typing import infer_call, operator
from reference_vm.types import (
    Attrs,
    AttrValue,
    Dim,
    DType,
    Shape,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    leaves,
)
from reference_vm.types.arrays import from_numpy, to_numpy

CONTENT_LIMIT = 64
"""Integer tensors up to this many elements have their elements known while building."""

DIM_LIMIT = 1 << 48
"""No dim is greater."""


@final
@dataclass(slots=True)
class Names:
    """The names that the variables of one function get."""

    given: dict[Var, str] = field(default_factory=dict)
    names: FreshNames = field(default_factory=FreshNames)

    def give(self, var: Var, wanted: str) -> None:
        """Note that ``var`` is called ``wanted``, or ``wanted.1`` and so on if that is taken."""
        self.given[var] = self.names.fresh(wanted)


@final
@dataclass(slots=True)
class Builder:
    """Collects the bindings of one block."""

    ops: Mapping[str, OpDef]
    names: Names = field(default_factory=Names)
    contents: dict[Var, Content] = field(default_factory=dict)
    """What is known of the elements of integer tensors, for all blocks of the function."""

    constants: dict[Var, Constant] = field(default_factory=dict)
    """The constants among the variables, for all blocks of the function."""

    symbols: Symbols = field(default_factory=Symbols)
    """Those of the model."""

    made: list[Function] = field(default_factory=list)
    """The functions that the model needs beside its own graph, in the order of their making."""

    bindings: list[Binding] = field(default_factory=list)
    where: str = ""
    """The node being translated, put before what operators' own rules find."""

    node: str = ""
    """Its name; empty if it has none."""

    def nested(self) -> Builder:
        """Return a builder for a block inside this one."""
        return self._other(self.names)

    def function(self) -> Builder:
        """Return a builder for a function that is called from here."""
        return self._other(Names())

    def _other(self, names: Names) -> Builder:
        known = (self.contents, self.constants, self.symbols, self.made)
        return Builder(self.ops, names, *known, where=self.where, node=self.node)

    def parameter(self, name: str, type_: Type) -> Var:
        var = Var(name, type_)
        self.names.give(var, name)
        return var

    def call(self, op: str, *args: Operand, **attrs: AttrValue) -> Var:
        """Append a call and return its variable.

        Raises:
            CompileError: The operator's own rule refuses the operands or attributes.
        """
        types = [a.type if isinstance(a, Var) else None for a in args]
        known = [self.content(a) if isinstance(a, Var) else None for a in args]
        try:
            typed = infer_call(operator(self.ops, op), types, Attrs(attrs), known)
        except CompileError as error:
            raise located(error, self.where) from error
        self._check_size(typed.type)
        return self._bind(op, Call(op, args, typed.attrs), typed.type, typed.content)

    def _check_size(self, type_: Type) -> None:
        """Refuse what no machine could hold, before numbers grow without bound."""
        for tensor in leaves(type_):
            if any(isinstance(d, int) and d > DIM_LIMIT for d in tensor.shape or ()):
                raise invalid(self.where, f"the result would have a dim above {DIM_LIMIT}")

    def results(self, op: str, *args: Operand, **attrs: AttrValue) -> tuple[Var, ...]:
        """Append a call with several results and return one variable for each."""
        return self.items(self.call(op, *args, **attrs))

    def items(self, var: Var) -> tuple[Var, ...]:
        """Return the items of a tuple, each projected."""
        assert isinstance(var.type, TupleType), f"%{var.name} is no tuple: {var.type}"
        kinds = enumerate(var.type.items)
        return tuple(self._bind(f"{var.name}.{i}", Project(var, i), t) for i, t in kinds)

    def pack(self, items: Sequence[Var]) -> Var:
        types = tuple(_typed(item) for item in items)
        return self._bind("results", MakeTuple(tuple(items)), TupleType(types))

    def constant(self, value: npt.ArrayLike, dtype: DType | None = None) -> Var:
        """Append a constant; ``dtype`` is that of the array if not said."""
        array = np.asarray(value) if dtype is None else np.asarray(value).astype(to_numpy(dtype))
        shape = tuple(int(d) for d in array.shape)
        data = np.ascontiguousarray(array).tobytes()
        return self.bind_constant(Constant(from_numpy(array.dtype), shape, data))

    def bind_constant(self, constant: Constant) -> Var:
        type_ = TensorType(constant.dtype, constant.shape)
        var = self._bind("const", constant, type_, content_of(constant))
        self.constants[var] = constant
        return var

    def ints(self, values: Sequence[int]) -> Var:
        """Append a constant i64 vector."""
        return self.constant(np.asarray(values, dtype=np.int64))

    def shape(self, dims: Shape) -> Var:
        """Append a shape value."""
        return self._bind("shape", ShapeLiteral(dims), ShapeType(dims))

    def branch(self, condition: Var, then: Block, orelse: Block, type_: Type) -> Var:
        return self._bind("if", If(condition, then, orelse), type_)

    def invoke(self, name: str, args: Sequence[Var], type_: Type) -> Var:
        """Append a call of a function of the module."""
        return self._bind(name, Invoke(GlobalRef(name), tuple(args)), type_)

    def match_cast(self, var: Var, type_: TensorType) -> Var:
        """Append a check that ``var`` is of a type that only the run can tell it has."""
        return self._bind("cast", Call("match_cast", (var,)), type_)

    def content(self, var: Var) -> Content | None:
        """Return what is known of the elements of an integer tensor or shape value."""
        if isinstance(var.type, ShapeType):
            return var.type.dims
        if isinstance(var.type, TensorType) and var.type.shape == (0,):
            return ()
        return self.contents.get(var)

    def numbers(self, var: Var) -> tuple[float, ...] | None:
        """Return the elements of a small constant as floats; ``None`` if it is none."""
        constant = self.constants.get(var)
        if constant is None or len(constant.data) > CONTENT_LIMIT * constant.dtype.itemsize:
            return None
        elements = np.frombuffer(constant.data, to_numpy(constant.dtype))
        return tuple(float(x) for x in elements)

    def scalar(self, var: Var) -> float | None:
        """Return the one element of a constant; ``None`` if it is no constant of one element."""
        found = self.numbers(var)
        return found[0] if found is not None and len(found) == 1 else None

    def static(self, var: Var) -> tuple[int, ...] | None:
        """Return the elements of an integer tensor if all are known as numbers."""
        content = self.content(var)
        if content is None:
            return None
        numbers = tuple(d for d in content if isinstance(d, int))
        return numbers if len(numbers) == len(content) else None

    def _bind(self, name: str, value: Expr, type_: Type, content: Content | None = None) -> Var:
        var = Var(name, type_, node=self.node or None)
        self.bindings.append(Binding(var, value))
        if content is not None:
            self.contents[var] = content
        return var


def _typed(var: Var) -> Type:
    assert var.type is not None
    return var.type


def content_of(constant: Constant) -> Content | None:
    """Return the elements of a small integer or bool constant of rank 0 or 1."""
    elements = len(constant.data) // constant.dtype.itemsize
    if constant.dtype.is_float or len(constant.shape) > 1 or elements > CONTENT_LIMIT:
        return None
    array: npt.NDArray[Any] = np.frombuffer(constant.data, to_numpy(constant.dtype))
    dims: list[Dim] = [int(x) for x in array]
    return tuple(dims)
