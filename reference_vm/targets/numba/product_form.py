"""Reads a primitive function as matrix products: which operands, what follows, what comes out.

A function is one of these, with transposes of the operands first::

    matmul                              alone, or its result transposed but for the last axis
    matmul, elementwise and row work    bias, activation, residual, layer norm, softmax
    matmul, such work, matmul           attention; the second result may be transposed too
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.ir.nodes import Binding, Block, Call, Function, Var
from reference_vm.loops.kernel import LoopRule
from reference_vm.loops.layout import layout
from reference_vm.loops.lower import NoLoops, lower
from reference_vm.loops.nest import Nest
from reference_vm.targets.numba.product_words import ADDRESSES, MOVES, TEMPLATE
from reference_vm.types import Attrs, TensorType
from reference_vm.types.dtype import BF16, F16, F32, F64, DType

Axes = tuple[int, ...]

TAKEN: Final = (F32, F64, F16, BF16)


@final
@dataclass(frozen=True, slots=True)
class Factor:
    """An operand of a product: a parameter, seen with its axes in another order."""

    param: int
    axes: Axes
    packed: bool = False
    """Whether it comes in panels (`jit.panels`)."""


@final
@dataclass(frozen=True, slots=True)
class ProductForm:
    """What a function of matrix products does."""

    dtype: DType
    left: Factor
    right: Factor
    follow: Nest | None
    """What is done with the first product, which is the parameter after the last one."""

    then: Factor | None
    """The right factor of a second product, whose left one is what ``follow`` stores."""

    axes: Axes | None
    """The order of the axes of the last product in the result; ``None`` for what follows."""

    @property
    def sums(self) -> DType:
        """The dtype that products are added up in."""
        return F32 if self.dtype in (F16, BF16) else self.dtype


def product_form(function: Function, rules: Mapping[str, LoopRule]) -> ProductForm | None:
    """Return what ``function`` is as matrix products; ``None`` if it is something else."""
    reader = _Reader(function, rules)
    try:
        return reader.read()
    except (_Other, NoLoops):
        return None


class _Other(Exception):
    """The function is something else."""


@final
class _Reader:
    def __init__(self, function: Function, rules: Mapping[str, LoopRule]) -> None:
        self.function = function
        self.rules = rules
        self.bindings = {b.var: b for b in function.body.bindings()}
        self.products = [b for b in self.bindings.values() if _is_call(b, "matmul")]
        self.used: set[Var] = set()
        """What is part of a product rather than of what follows."""

    def read(self) -> ProductForm:
        first = self._first()
        dtype = first.var.tensor.dtype
        left, right = (self._factor(first, i) for i in range(2))
        self.used.add(first.var)
        if len(self.products) == 2:
            return self._chain(first, left, right)
        axes = self._plain(first)
        follow = None if axes is not None else self._follow(first, self.function.body.result)
        return ProductForm(dtype, left, right, follow, None, axes)

    def _first(self) -> Binding:
        results = len(self.function.params) + 4
        if not 1 <= len(self.products) <= 2 or results > ADDRESSES:
            raise _Other
        first = self.products[0]
        if first.var.tensor.dtype not in TAKEN or first.var.tensor.shape is None:
            raise _Other
        return first

    def _factor(self, product: Binding, index: int) -> Factor:
        """Return an operand that is a parameter, perhaps transposed."""
        var = _operand(product, index)
        axes: Sequence[int] = range(_rank(var))
        made = self.bindings.get(var)
        if made is not None and _is_call(made, "permute_dims"):
            axes = _axes(made)
            self.used.add(var)
            var = _operand(made, 0)
        if var not in self.function.params:
            raise _Other
        place = self.function.params.index(var)
        packed = self.function.attrs.get("panels") or ()
        assert isinstance(packed, tuple)
        return Factor(place, tuple(axes), index == 1 and place in packed)

    def _plain(self, product: Binding) -> Axes | None:
        """Return the order of the result's axes if nothing but a transpose follows."""
        rank, result = _rank(product.var), self.function.body.result
        if product.var.tensor.dtype in (F16, BF16):
            return None
        if result == product.var and self.used.issuperset(self.bindings):
            return tuple(range(rank))
        made = self.bindings.get(result)
        if made is None or not _is_call(made, "permute_dims"):
            return None
        if _operand(made, 0) != product.var or not self.used.issuperset(
            self.bindings.keys() - {result}
        ):
            return None
        axes = _axes(made)
        return axes if axes[-1] == rank - 1 else None

    def _chain(self, first: Binding, left: Factor, right: Factor) -> ProductForm:
        second = self.products[1]
        dtype = first.var.tensor.dtype
        middle, then = _operand(second, 0), self._factor(second, 1)
        if dtype in (F16, BF16) or _rank(second.var) != _rank(first.var) or then.packed:
            raise _Other
        self.used.add(second.var)
        made = self.bindings[self.function.body.result]
        axes = tuple(range(_rank(second.var)))
        if made.var != second.var:
            if not _is_call(made, "permute_dims") or _operand(made, 0) != second.var:
                raise _Other
            axes = _axes(made)
            self.used.add(made.var)
        if axes[-1] != len(axes) - 1:
            raise _Other
        follow = self._follow(first, middle)
        if len(follow.stores) != 1 or follow.stores[0].view != tuple(range(follow.rank)):
            raise _Other
        return ProductForm(dtype, left, right, follow, then, axes)

    def _follow(self, product: Binding, result: Var) -> Nest:
        """Return the loop nest of what follows on a product, which it reads as a parameter."""
        type_ = product.var.tensor
        rank = _rank(product.var)
        if rank < 2 or min(_rank(_operand(product, i)) for i in range(2)) < 2:
            raise _Other
        sums = F32 if type_.dtype in (F16, BF16) else type_.dtype
        given = Var("product", TensorType(sums, type_.shape))
        finished = Call("cast", (given,), Attrs(to=type_.dtype, saturate=True))
        kept = [Binding(product.var, finished)]
        kept += [b for b in self.bindings.values() if b.var not in self.used]
        assert result.type is not None
        body = Block(tuple(kept), result)
        nest = lower(Function("", (*self.function.params, given), result.type, body), self.rules)
        self._check(nest, rank)
        return nest

    def _check(self, nest: Nest, rank: int) -> None:
        """Raise `_Other` unless a nest can run on a block of a product's rows."""
        own = len(self.function.params)
        views = [a.view for a in nest.accesses if a.input == own]
        fits = nest.rank == rank and nest.row_axes <= 1 and views == [tuple(range(rank))]
        place = layout(nest)
        if not fits or place.moves > MOVES or place.words > TEMPLATE:
            raise _Other


def _is_call(binding: Binding, op: str) -> bool:
    return isinstance(binding.value, Call) and binding.value.op == op


def _operand(binding: Binding, index: int) -> Var:
    assert isinstance(binding.value, Call)
    var = binding.value.args[index]
    assert isinstance(var, Var)
    return var


def _rank(var: Var) -> int:
    if not isinstance(var.type, TensorType) or var.type.shape is None:
        raise _Other
    return len(var.type.shape)


def _axes(binding: Binding) -> Axes:
    """Return the axes of a transpose, none of them negative."""
    assert isinstance(binding.value, Call)
    rank = _rank(binding.var)
    given = binding.value.attrs["axes"] or tuple(reversed(range(rank)))
    assert isinstance(given, tuple)
    return tuple(a % rank for a in given if isinstance(a, int))


__all__ = ["Axes", "Factor", "ProductForm", "product_form"]
