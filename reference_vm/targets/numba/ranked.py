"""Kernels of functions whose operands are of unknown rank, made when a rank is first met.

A tensor that comes out of a branch may be a matrix in one run and a stack of them in the next, and
loops are written for a rank. So what is compiled is the function with the ranks of the operands at
hand: one kernel for each set of ranks and of axes with one place, whatever the other sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, final

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall
from reference_vm.diagnostics import DataError
from reference_vm.ir import rewrite
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import Function, Var
from reference_vm.ops.definition import OpDef
from reference_vm.targets.numba.making import operators
from reference_vm.targets.shape_function import shape_function
from reference_vm.types import Dim, ShapeType, TensorType
from reference_vm.types.dim import symbol, symbols

Array: TypeAlias = Any
Axes: TypeAlias = tuple[bool, ...]
"""For each axis of an operand, whether it has one place."""

_TRIED: Final = range(1, 5)
"""Ranks of which a function must have a kernel for one at least."""


def ranked_kernel(
    function: Function,
    make: Callable[[Function], Kernel | None],
    instead: Callable[[], Kernel],
    ops: Mapping[str, OpDef],
) -> Kernel | None:
    """Return the kernel of a function with operands of unknown rank.

    Args:
        function: The primitive function.
        make: Returns the kernel of a function whose ranks are known, ``None`` if it has none.
        instead: Returns the kernel for operands that there is no other for.
        ops: The operators by name.

    Returns:
        ``None`` if all ranks are known, or there is no kernel whatever they are.
    """
    unknown = [i for i, p in enumerate(function.params) if _is_unknown(p)]
    if not unknown:
        return None
    for rank in _TRIED:
        found = _of_rank(function, dict.fromkeys(unknown, (False,) * rank), ops)
        kernel = None if found is None else make(found)
        if kernel is not None:
            return RankedKernel(function, tuple(unknown), make, instead(), ops)
    return None


def _is_unknown(param: Var) -> bool:
    return isinstance(param.type, TensorType) and param.type.shape is None


def _of_rank(
    function: Function, axes: Mapping[int, Axes], ops: Mapping[str, OpDef]
) -> Function | None:
    """Return a function with the ranks of its parameters known; ``None`` if they do not fit."""
    names = FreshNames(_symbols(function))
    given: list[tuple[Dim, ...]] = []
    for i, param in enumerate(function.params):
        if i in axes:
            given.append(tuple(1 if one else symbol(names.fresh("n")) for one in axes[i]))
        else:
            known = param.type
            assert isinstance(known, ShapeType | TensorType)
            given.append((known.dims if isinstance(known, ShapeType) else known.shape) or ())
    try:
        types = shape_function(function, ops).types(given)
    except DataError:
        return None
    found = rewrite.renamed(function, lambda var: rewrite.with_type(var, types[var]))
    return replace(found, result=types[function.body.result])


def _symbols(function: Function) -> set[str]:
    """Return the symbols in the types of a function's parameters."""
    found: set[str] = set()
    for param in function.params:
        type_ = param.type
        dims = type_.dims if isinstance(type_, ShapeType) else param.tensor.shape
        found.update(name for dim in dims or () for name in symbols(dim))
    return found


@final
@dataclass
class RankedKernel:
    """A primitive function, compiled for the ranks that it has met."""

    function: Function
    unknown: tuple[int, ...]
    """The parameters whose ranks are not known."""

    make: Callable[[Function], Kernel | None]
    instead: Kernel
    known: Mapping[str, OpDef]
    library: bool = False
    _made: dict[tuple[Axes, ...], Kernel] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def can_fail(self) -> bool:
        return self.instead.can_fail

    @property
    def ops(self) -> tuple[str, ...]:
        return operators(self.function)

    def native(self, inputs: Sequence[Dims | Any]) -> NativeCall | None:
        """Return the machine code; see `bytecode.kernel.Kernel`."""
        given = [inputs[i] for i in self.unknown]
        dims = [x if isinstance(x, tuple) else x.shape for x in given]
        return self._kernel(dims).native(inputs)

    def __call__(
        self, xp: Any, inputs: Sequence[Array], outputs: Sequence[Array | None]
    ) -> Sequence[Array]:
        """Compute the results; see `bytecode.kernel.Kernel`."""
        return self._kernel([inputs[i].shape for i in self.unknown])(xp, inputs, outputs)

    def _kernel(self, dims: Sequence[Dims]) -> Kernel:
        """Return the kernel for operands of these dims where the rank was unknown."""
        key = tuple(tuple(d == 1 for d in x) for x in dims)
        found = self._made.get(key)
        if found is None:
            function = _of_rank(
                self.function, dict(zip(self.unknown, key, strict=True)), self.known
            )
            kernel = None if function is None else self.make(function)
            found = self._made[key] = self.instead if kernel is None else kernel
        return found


__all__ = ["RankedKernel", "ranked_kernel"]
