"""How much work a call is: the operations on numbers, and the bytes that are read and written.

Counted from shapes alone, with symbols at their nominal sizes: a product of matrices is two
operations for each element of the result and step of the sum, a convolution likewise, a reduction
one for each element that goes in, and everything else one for each element that comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.analysis.sizes import nominal_bytes
from reference_vm.ir.nodes import Binding, Bound, Call, Var
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.types import TensorType, Type, leaves

PRODUCTS: Final = frozenset({"matmul", "matmul_integer"})
CONVOLUTIONS: Final = frozenset({"conv", "conv_transpose", "conv_integer"})


@final
@dataclass(frozen=True, slots=True)
class Work:
    """What one call does."""

    operations: int
    bytes: int


def work_of(binding: Binding, op: OpDef, sizes: Mapping[str, int], bounds: Sequence[Bound]) -> Work:
    """Return the work of the call that ``binding`` binds."""
    call = binding.value
    assert isinstance(call, Call)
    counter = _Counter(sizes, bounds)
    operands = [t for a in call.args if isinstance(a, Var) for t in _tensors(a.type)]
    results = list(_tensors(binding.var.type))
    touched = sum(map(counter.bytes, (*operands, *results)))
    return Work(counter.operations(call.op, op, operands, results), touched)


def _tensors(type_: Type | None) -> Sequence[TensorType]:
    return () if type_ is None else tuple(leaves(type_))


@final
@dataclass(frozen=True, slots=True)
class _Counter:
    sizes: Mapping[str, int]
    bounds: Sequence[Bound]

    def bytes(self, type_: TensorType) -> int:
        return nominal_bytes(type_, self.sizes, self.bounds)

    def elements(self, type_: TensorType) -> int:
        return self.bytes(type_) * 8 // type_.dtype.bits

    def operations(
        self, name: str, op: OpDef, operands: Sequence[TensorType], results: Sequence[TensorType]
    ) -> int:
        made = sum(map(self.elements, results))
        if name in PRODUCTS and operands and operands[0].shape:
            return 2 * made * self._along(operands[0], -1)
        if name in CONVOLUTIONS and len(operands) > 1 and operands[1].shape:
            filters = max(1, self._along(operands[1], 1 if name == "conv_transpose" else 0))
            return 2 * made * max(1, self.elements(operands[1]) // filters)
        if op.has(Trait.REDUCTION):
            return sum(map(self.elements, operands))
        return made

    def _along(self, type_: TensorType, axis: int) -> int:
        assert type_.shape is not None
        return self.elements(TensorType(type_.dtype, (type_.shape[axis],)))


__all__ = ["Work", "work_of"]
