"""What elementwise operators share: their type rule, and constructors for their definitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from reference_vm.loops.kernel import Elementwise
from reference_vm.loops.scalar import Scalar, binary, unary
from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.contents import Fold, elementwise
from reference_vm.ops.definition import (
    Array,
    Attr,
    Compute,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
    TypeRule,
)
from reference_vm.ops.numerics import compared, lifted
from reference_vm.ops.shapes import broadcast
from reference_vm.types import DType, TensorType
from reference_vm.types.dtype import BOOL

Element = Callable[..., Scalar]
"""From the operands' elements, one argument each, to the result's."""

X: Final = Operand("x")
Y: Final = Operand("y")

EXACT: Final = frozenset({Trait.ELEMENTWISE, Trait.EXACT})
ROUNDED: Final = frozenset({Trait.ELEMENTWISE})


def elementwise_rule(allowed: Collection[DType], result: DType | None = None) -> TypeRule:
    """Return the rule: operands of one of the ``allowed`` dtypes, all of the same, broadcast.

    The result has their dtype, or ``result``.
    """

    def infer(call: OpCall) -> TensorType:
        here = [i for i in range(len(call.types)) if call.present(i)]
        types = [tensor_of(call, i, allowed) for i in here]
        agree_on_dtype(call, here)
        return TensorType(result or types[0].dtype, broadcast(call, [t.shape for t in types]))

    return infer


def loop(element: Element) -> Elementwise:
    """Return the loop rule of an operator without attributes."""

    def rule(operands: Sequence[Scalar], attrs: Mapping[str, object]) -> Scalar:
        return element(*operands)

    return Elementwise(rule)


def loop1(op: str) -> Elementwise:
    """Return the loop rule that is one unary scalar operation."""
    return loop(lambda x: unary(op, x))


def loop2(op: str) -> Elementwise:
    """Return the loop rule that is one binary scalar operation."""
    return loop(lambda x, y: binary(op, x, y))


def ufunc(name: str) -> Compute:
    """Return ``compute`` for the function of the array namespace called ``name``."""

    def compute(xp: Namespace, *operands: Array) -> Array:
        return getattr(xp, name)(*operands)

    return compute


def rounding(name: str) -> Compute:
    """Return ``compute`` for a rounding function, which leaves integers alone."""

    def compute(xp: Namespace, x: Array) -> Array:
        return x if x.dtype.kind in "iu" else getattr(xp, name)(x)

    return compute


def operator(
    name: str,
    summary: str,
    allowed: Collection[DType],
    compute: Compute,
    loops: Elementwise,
    *,
    operands: tuple[Operand, ...] = (X,),
    result: DType | None = None,
    traits: frozenset[Trait] = ROUNDED,
    fold: Fold | None = None,
    attrs: Mapping[str, Attr] | None = None,
    origin: str = "array-api",
) -> OpDef:
    """Return an elementwise operator; ``compute`` is made fit for f16 and bf16 here."""
    return OpDef(
        name=name,
        summary=summary,
        operands=operands,
        attrs=attrs or {},
        infer=elementwise_rule(allowed, result),
        compute=compared(compute) if result is BOOL else lifted(compute),
        loops=loops,
        content=None if fold is None else elementwise(fold),
        traits=traits,
        origin=origin,
    )


def constant(x: Array, value: float) -> Any:
    """Return ``value`` as a scalar of ``x``'s dtype, so that nothing is promoted."""
    return x.dtype.type(value)


__all__ = [
    "EXACT",
    "ROUNDED",
    "X",
    "Y",
    "Element",
    "constant",
    "elementwise_rule",
    "rounding",
    "loop",
    "loop1",
    "loop2",
    "operator",
    "ufunc",
]
