"""From a primitive function to its loop nest.

Every variable of the function is a function of the place in the domain. A variable is computed *at
a view*: which axis of the domain runs along each of its own axes. So broadcasting and transposing
cost nothing, and a variable read at two views is computed at both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from reference_vm.ir.nodes import Binding, Call, Constant, Function, MakeTuple, Var
from reference_vm.loops.code import Code, Number
from reference_vm.loops.expand import convert, expand, widen
from reference_vm.loops.kernel import (
    Correlation,
    Elementwise,
    LoopRule,
    Move,
    Product,
    Reduce,
    Rows,
    ScalarRule,
)
from reference_vm.loops.nest import Access, Inner, Nest, Store, View
from reference_vm.loops.scalar import Input
from reference_vm.types import AttrValue, TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, F16, F32, I64


class NoLoops(Exception):
    """The function has no loop nest: an operator without a loop rule, or one of another form."""


def lower(function: Function, rules: Mapping[str, LoopRule]) -> Nest:
    """Return the loop nest of a primitive function.

    Args:
        function: Its body is calls of operators and ends in a tensor or a tuple of tensors.
        rules: The loop rules of operators, by name.

    Raises:
        NoLoops: It has none.
    """
    bindings = {b.var: b for b in function.body.bindings()}
    outputs = _outputs(function, bindings)
    if any(v not in bindings for v in outputs):
        raise NoLoops("a result is a parameter")
    row_axes, domain = _domain(bindings.values(), outputs, rules)
    return _Lowering(function, rules, bindings, domain, row_axes).run(outputs)


def _outputs(function: Function, bindings: Mapping[Var, Binding]) -> tuple[Var, ...]:
    result = function.body.result
    made = bindings.get(result)
    return made.value.items if made and isinstance(made.value, MakeTuple) else (result,)


def _shape(var: Var) -> tuple[object, ...]:
    if not isinstance(var.type, TensorType) or var.type.shape is None:
        raise NoLoops(f"%{var.name} has no known rank")
    return var.type.shape


def _domain(
    bindings: Iterable[Binding], outputs: Sequence[Var], rules: Mapping[str, LoopRule]
) -> tuple[int, tuple[object, ...]]:
    """Return how many axes are folded, and the dims of the domain."""
    for binding in bindings:
        call = binding.value
        if not isinstance(call, Call):
            continue
        rule = rules.get(call.op)
        if isinstance(rule, Reduce | Rows):
            operand = call.args[0]
            assert isinstance(operand, Var)
            shape = _shape(operand)
            return row_axes_of(call, len(shape), rule), shape
    return 0, max((_shape(v) for v in outputs), key=len)


def row_axes_of(call: Call, rank: int, rule: LoopRule) -> int:
    """Return how many trailing axes of an operand of this rank ``call`` folds.

    Raises:
        NoLoops: They are not the trailing ones, or there are none.
    """
    axes = _axes(call.attrs.get("axis"), rank)
    if isinstance(rule, Rows) and rule.to_end and axes:
        axes = set(range(min(axes), rank))
    if not axes or axes != set(range(rank - len(axes), rank)):
        raise NoLoops(f"{call.op} folds axes that are not the last ones")
    return len(axes)


def _axes(axis: AttrValue, rank: int) -> set[int]:
    if axis is None or not rank:
        return set(range(rank))
    listed = axis if isinstance(axis, tuple) else (axis,)
    return {a % rank for a in listed if isinstance(a, int)}


@final
@dataclass
class _Lowering:
    """Builds the code of one function; a variable at a view is computed once."""

    function: Function
    rules: Mapping[str, LoopRule]
    bindings: Mapping[Var, Binding]
    domain: tuple[object, ...]
    row_axes: int
    code: Code = field(default_factory=Code)
    accesses: list[Access] = field(default_factory=list)
    values: dict[tuple[Var, View], Number] = field(default_factory=dict)

    def run(self, outputs: Sequence[Var]) -> Nest:
        stores = tuple(self._store(i, var) for i, var in enumerate(outputs))
        return Nest(
            rank=len(self.domain),
            row_axes=self.row_axes,
            accesses=tuple(self.accesses),
            code=tuple(self.code.instructions),
            stores=stores,
        )

    def _store(self, index: int, var: Var) -> Store:
        view = self._root(var)
        value = self.at(var, view)
        inner = self._inner(view)
        in_row = any(axis is not None and axis >= self._outer for axis in view)
        if self.row_axes and in_row and inner is not Inner.UNIT:
            raise NoLoops(f"%{var.name} covers a part of the row")
        return Store(index, view, value.index, value.dtype, inner)

    @property
    def _outer(self) -> int:
        return len(self.domain) - self.row_axes

    def _root(self, var: Var) -> View:
        """Return the view that a result of the function is computed at."""
        shape = _shape(var)
        if len(shape) == len(self.domain):
            view = _against(shape, tuple(range(len(shape))), self.domain)
            return self._folded(shape, view) if None in view[self._outer :] else view
        if self.row_axes and len(shape) == self._outer:
            return tuple(range(self._outer))
        raise NoLoops(f"%{var.name} has another rank than the domain")

    def _folded(self, shape: tuple[object, ...], view: View) -> View:
        """Return ``view`` without the row's axes that have one place: ``[1, 1]`` of ``[3, 1]``."""
        outer = self._outer
        inside = zip(shape[outer:], view[outer:], strict=True)
        return (*view[:outer], *(None if dim == 1 else axis for dim, axis in inside))

    def _inner(self, view: View) -> Inner:
        """Return how a tensor seen at ``view`` moves along the innermost loop."""
        rank = len(self.domain)
        inside = tuple(range(self._outer, rank)) if self.row_axes else (rank - 1,)
        running = tuple(axis for axis in view if axis in inside)
        if not running:
            return Inner.ZERO
        if view[-len(inside) :] == inside:
            return Inner.UNIT
        part = self.row_axes > 1 and set(running) != set(inside)
        return Inner.UNIT if part else Inner.STRIDED

    def at(self, var: Var, view: View) -> Number:
        """Return the element of ``var`` at the place in the domain."""
        found = self.values.get((var, view))
        if found is None:
            binding = self.bindings.get(var)
            found = self._call(binding, view) if binding else self._read(var, view)
            self.values[var, view] = found
        return found

    def _read(self, var: Var, view: View) -> Number:
        dtype = var.tensor.dtype
        access = Access(self.function.params.index(var), view, dtype, self._inner(view))
        if access not in self.accesses:
            self.accesses.append(access)
        return self.code.load(self.accesses.index(access), dtype)

    def _call(self, binding: Binding, view: View) -> Number:
        call, dtype = binding.value, binding.var.tensor.dtype
        if isinstance(call, Constant):
            return self._literal(call)
        rule = self.rules.get(call.op) if isinstance(call, Call) else None
        if not isinstance(call, Call) or rule is None:
            raise NoLoops(f"%{binding.var.name} is not an operator with a loop rule")
        match rule:
            case Elementwise():
                operands = self._operands(call, _shape(binding.var), view)
                return convert(self._scalar(rule.element, call, operands), dtype)
            case Rows():
                self._same_rows(call, rule)
                operands = self._operands(call, _shape(binding.var), view)
                return convert(self._scalar(rule.element, call, operands), dtype)
            case Reduce():
                return convert(self._reduce(rule, call, view), dtype)
            case Move():
                return self._move(rule, call, view)
            case Product() | Correlation():
                raise NoLoops(f"{call.op} is no loop nest")

    def _literal(self, constant: Constant) -> Number:
        """Return a constant of one element; f16 and bf16 already in f32."""
        (value,) = np.frombuffer(constant.data, to_numpy(constant.dtype)).tolist()
        dtype = F32 if constant.dtype in (F16, BF16) else constant.dtype
        return self.code.literal(value, dtype)

    def _operands(self, call: Call, shape: tuple[object, ...], view: View) -> list[Number | None]:
        """Return the operands of an elementwise call, broadcast to the place of its result."""
        found: list[Number | None] = []
        for operand in call.args:
            if not isinstance(operand, Var):
                found.append(None)
                continue
            own = _shape(operand)
            skipped = len(shape) - len(own)
            found.append(widen(self.at(operand, _against(own, view[skipped:], shape[skipped:]))))
        return found

    def _scalar(self, rule: ScalarRule, call: Call, operands: Sequence[Number | None]) -> Number:
        inputs = [None if n is None else Input(i, n.dtype) for i, n in enumerate(operands)]
        return expand(self.code, rule(inputs, call.attrs), operands)

    def _same_rows(self, call: Call, rule: LoopRule) -> tuple[Var, int]:
        """Return a folding call's operand, after making sure that it folds the nest's rows."""
        operand = call.args[0]
        assert isinstance(operand, Var)
        rank = len(_shape(operand))
        if row_axes_of(call, rank, rule) != self.row_axes or rank != len(self.domain):
            raise NoLoops(f"{call.op} folds other axes than the rest")
        return operand, rank

    def _reduce(self, rule: Reduce, call: Call, view: View) -> Number:
        operand, rank = self._same_rows(call, rule)
        rows = tuple(range(self._outer, rank))
        inside = _against(_shape(operand), (*view[: self._outer], *rows), self.domain)
        element = widen(self.at(operand, inside))
        scalar = Input(0, element.dtype)
        mapped = rule.before(scalar) if rule.before else scalar
        before = expand(self.code, mapped, [element])
        folded = before.fold(rule.op, rule.identity(before.dtype))
        if rule.after is None:
            return folded
        count = self.code.emit("count", (), I64).cast(folded.dtype)
        after = rule.after(Input(0, folded.dtype), Input(1, count.dtype))
        return expand(self.code, after, [folded, count])

    def _move(self, rule: Move, call: Call, view: View) -> Number:
        operand = call.args[0]
        if rule.kind != "permute" or not isinstance(operand, Var):
            raise NoLoops(f"{call.op} is not moved inside a kernel")
        if self.row_axes and operand in self.bindings:
            raise NoLoops(f"{call.op} of what is computed is not moved inside rows")
        axes = call.attrs["axes"] or tuple(reversed(range(len(view))))
        source: list[int | None] = [None] * len(view)
        for place, axis in enumerate(axes):
            source[axis % len(view)] = view[place]
        return self.at(operand, tuple(source))


def _against(own: tuple[object, ...], view: View, wide: Sequence[object]) -> View:
    """Return ``view`` without the axes along which a tensor of dims ``own`` is broadcast."""
    return tuple(
        None if dim == 1 and other != 1 else axis
        for dim, axis, other in zip(own, view, wide, strict=True)
    )
