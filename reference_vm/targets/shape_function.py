"""The shapes of a kernel's results, told on the host before it is launched.

A *shape function* is what the type rules of a primitive function's operators say once every dim
and every host operand is a number::

    told = shape_function(primitive)           # %y = reshape(%x, %target)
    told([(2, 3, 4), array([0, -1])])          # ((2, 12),)

So static inference and the run share one rule for each operator. What no rule can tell without the
elements (how many are not zero, say) is ``None``: the kernel brings its own memory then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Final, final

import numpy as np

from reference_vm.bytecode.kernel import Dims
from reference_vm.diagnostics import CompileError, DataError
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Call,
    Constant,
    Function,
    MakeTuple,
    Operand,
    Project,
    ShapeLiteral,
    Var,
)
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import Content, OpDef
from reference_vm.ops.typing import infer_call
from reference_vm.types import Dim, ShapeType, TensorType, TupleType, Type, Unknown, leaves
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dim import substitute, symbols

_KEPT: Final = 64
"""Sets of operands that the answer is remembered for."""

_TRIED: Final = (1009, 0, 1, 2, 3, 5)
"""The first of the sizes that symbols are tried with, each one more than the last."""


@final
@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one variable: its type, with numbers for dims, and perhaps its data."""

    type: Type
    data: Any = None
    """A NumPy array."""

    @property
    def content(self) -> Content | None:
        data = self.data
        if data is None or data.ndim > 1 or data.dtype.kind not in "biu":
            return None
        return tuple(int(v) for v in data.reshape(-1))


@final
@dataclass(frozen=True)
class ShapeFunction:
    """The shapes of one primitive function's results."""

    function: Function
    reads: tuple[bool, ...]
    """Whether it reads the data of each parameter; of the others it needs the dims only."""

    ops: Mapping[str, OpDef] = field(default_factory=lambda: OPS)
    _remembered: dict[tuple[Any, ...], tuple[Dims | None, ...]] = field(default_factory=dict)

    def __call__(self, inputs: Sequence[Any]) -> Sequence[Dims | None]:
        """Return the dims of each result, ``None`` where only the elements can tell.

        Args:
            inputs: For each parameter its dims, or a NumPy array where its data is read; a tuple
                of ints for a shape value.

        Raises:
            DataError: The inputs do not fit one another.
        """
        if any(type(d) is not int for x in inputs if isinstance(x, tuple) for d in x):
            return self._told(inputs)  # see `Kernel.native`
        key = tuple(map(_key, inputs))
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= _KEPT:
                self._remembered.clear()
            found = self._remembered[key] = self._told(inputs)
        return found

    @cached_property
    def is_certain(self) -> bool:
        """Whether operands that have the parameters' types certainly fit one another.

        Then a launch with results of known size need not ask. Dims that have to be equal are tried
        with numbers that are not, so where that is taken the types alone say that they fit.
        """
        if any(self.reads) or any(isinstance(p.type, ShapeType) for p in self.function.params):
            return False
        try:
            for first in _TRIED:
                self._told(_tried(self.function.params, first))
        except DataError:
            return False
        return True

    def types(self, inputs: Sequence[Any]) -> Mapping[Var, Type]:
        """Return the type of each variable for operands as `__call__` takes them.

        Dims may be symbols too.

        Raises:
            DataError: The inputs do not fit one another.
        """
        params = self.function.params
        known = dict(zip(params, map(_given, params, inputs), strict=True))
        try:
            for binding in self.function.body.bindings():
                known[binding.var] = self._value(binding, known)
        except CompileError as error:
            raise _at_run_time(error) from error
        return {var: found.type for var, found in known.items()}

    def _told(self, inputs: Sequence[Any]) -> tuple[Dims | None, ...]:
        return tuple(map(_dims, leaves(self.types(inputs)[self.function.body.result])))

    def _value(self, binding: Binding, known: Mapping[Var, _Known]) -> _Known:
        match binding.value:
            case Call(op=op, args=args, attrs=attrs):
                operands = [_operand(a, known) for a in args]
                return self._call(self.ops[op], operands, attrs)
            case Constant(dtype=dtype, shape=shape, data=data):
                array = np.frombuffer(data, to_numpy(dtype)).reshape(shape)
                return _Known(TensorType(dtype, shape), array)
            case ShapeLiteral(dims=dims):
                return _Known(ShapeType(dims))
            case MakeTuple(items=items):
                return _Known(TupleType(tuple(known[i].type for i in items)))
            case Alias(var=source):
                return known[source]
            case Project(tuple=source, index=index):
                whole = known[source].type
                assert isinstance(whole, TupleType)
                return _Known(whole.items[index])
            case other:
                raise AssertionError(f"{type(other).__name__} in primitive {binding.var.name}")

    def _call(self, op: OpDef, operands: Sequence[_Known | None], attrs: Any) -> _Known:
        types = [None if o is None else o.type for o in operands]
        contents = [None if o is None else o.content for o in operands]
        typed = infer_call(op, types, attrs, contents)
        if op.sizes is None or all(_dims(t) is not None for t in leaves(typed.type)):
            return _Known(typed.type)
        left_out = [None] * (len(op.operands) - len(operands))
        data = [None if o is None else o.data for o in operands]
        told = op.sizes([*types, *left_out], [*data, *left_out], typed.attrs)
        return _Known(typed.type if told is None else told)


def shape_function(function: Function, ops: Mapping[str, OpDef] = OPS) -> ShapeFunction:
    """Return the shape function of a primitive function."""
    host: set[Operand] = set()
    for binding in function.body.bindings():
        if isinstance(binding.value, Call):
            op = ops[binding.value.op]
            host.update(a for i, a in enumerate(binding.value.args) if op.is_host_operand(i))
    return ShapeFunction(function, tuple(p in host for p in function.params), ops)


def _tried(params: Sequence[Var], first: int) -> list[Dims]:
    """Return dims for each parameter: every symbol, and every unknown dim, has its own size."""
    sizes = count(first)
    known: dict[str, Dim] = {}
    found: list[Dims] = []
    for param in params:
        shape = param.tensor.shape
        if shape is None:
            raise DataError("rank-mismatch", "no rank is known")
        for name in (n for dim in shape for n in symbols(dim)):
            known.setdefault(name, next(sizes))
        tried = [next(sizes) if isinstance(d, Unknown) else substitute(d, known) for d in shape]
        if any(isinstance(d, Unknown) for d in tried):
            raise DataError("division-by-zero", "a dim divides by one of the sizes tried")
        found.append(tuple(d for d in tried if isinstance(d, int)))
    return found


def _operand(operand: Operand, known: Mapping[Var, _Known]) -> _Known | None:
    return known[operand] if isinstance(operand, Var) else None


def _given(param: Var, value: Any) -> _Known:
    type_ = param.type
    if isinstance(type_, ShapeType):
        return _Known(ShapeType(tuple(int(d) if isinstance(d, np.integer) else d for d in value)))
    assert isinstance(type_, TensorType)
    if isinstance(value, tuple):
        return _Known(TensorType(type_.dtype, value))
    return _Known(TensorType(type_.dtype, value.shape), value)


def _key(value: Any) -> Any:
    return value if isinstance(value, tuple) else (value.shape, value.tobytes())


def _dims(type_: TensorType) -> Dims | None:
    shape = type_.shape
    if shape is None or not all(isinstance(d, int) for d in shape):
        return None
    return shape  # type: ignore[return-value]  # all are ints


def _at_run_time(error: CompileError) -> DataError:
    """Return the error of a type rule as one of the run, which says operator and place itself."""
    first = error.diagnostics[0]
    _, _, message = first.message.partition(": ")
    return DataError(first.code, message or first.message, first.help)


__all__ = ["ShapeFunction", "shape_function"]
