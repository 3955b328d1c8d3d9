"""How an operator says what it is in the loop IR.

Five shapes of rule cover what fuses:

* `Elementwise`: one scalar expression of the operands' elements at the same, broadcast, place;
* `Reduce`: fold axes away with an associative operation, after a scalar map and before another;
* `Rows`: an elementwise expression that also folds over the row it stands in;
* `Move`: each result element is one operand element (or a fill value); the printer decides the
  index map from the operator's name and attributes: transposes, slices, broadcasts, concatenations;
* `Product`: a matrix product, which is not loops but tiles; work on its result may follow it.

What has none of them is a library kernel: `OpDef.compute` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, Union, final

from reference_vm.loops.scalar import Scalar
from reference_vm.types.dtype import DType

ScalarRule: TypeAlias = Callable[[Sequence[Any], Mapping[str, object]], Scalar]
"""From the operands' elements and the attributes to the result's element. An operand is a `Scalar`,
or ``None`` when it is left out."""


@final
@dataclass(frozen=True, slots=True)
class Elementwise:
    """``result[i] = element(x[i], y[i], …)`` with NumPy's broadcasting."""

    element: ScalarRule


@final
@dataclass(frozen=True, slots=True)
class Reduce:
    """``result[i] = after(fold over j of before(x[i, j]), count)``; axes by the attribute ``axis``.

    f16 and bf16 accumulate in f32 and are rounded once.
    """

    op: str
    """``add``, ``mul``, ``max`` or ``min``, as in `scalar.BINARY`."""

    identity: Callable[[DType], float | int]
    before: Callable[[Scalar], Scalar] | None = None
    after: Callable[[Scalar, Scalar], Scalar] | None = None
    """Gets the fold and the number of elements folded, both in the accumulator's dtype."""


@final
@dataclass(frozen=True, slots=True)
class Move:
    """Each result element is one operand element: ``kind`` names the index map."""

    kind: str
    """``permute``, ``broadcast``, ``slice``, ``concat``, ``reshape``, ``flip``, ``take``."""


@final
@dataclass(frozen=True, slots=True)
class Rows:
    """An elementwise rule that also folds over the row, by `scalar.fold`: softmax, layer norm.

    The result has operand 0's shape. A row is all places along the attribute ``axis``, or from it
    to the last if ``to_end``; f16 and bf16 are f32 throughout and rounded once.
    """

    element: ScalarRule
    to_end: bool = False


@final
@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product of the last two axes, added up in the operands' dtype; f16 and bf16 in f32.

    It has no loop nest. A target that multiplies matrices may take elementwise and row work on the
    result into the same kernel, as each block of rows is made.
    """


@final
@dataclass(frozen=True, slots=True)
class Correlation:
    """Sums over windows: a convolution. It has no loop nest.

    A target may take one `relu` of the result into the same kernel, as each tile is stored.
    """


LoopRule: TypeAlias = Union[Elementwise, Reduce, Rows, Move, Product, Correlation]
