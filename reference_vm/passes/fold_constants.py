"""Compute, while compiling, what depends on constants alone and every device computes alike.

Before::

    %a = const i64[2] [1, 2]
    %b = add(%a, %a)
    %c = exp(%x)

After::

    %a = const i64[2] [1, 2]
    %b = const i64[2] [2, 4]
    %c = exp(%x)

Only operators whose bits are the same everywhere are folded (semantics section 3), so a program
gives the same results with a value as a constant and as an input. Left alone are operators with a
request or a pinned result, since where they run is observable, ones that would fail, ones that give
NaNs, whose bits are each kernel's own, and results above ``limit`` bytes. An ``if`` on a constant
becomes the arm that is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeGuard, Union, final

import numpy as np

from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Constant,
    Expr,
    Function,
    If,
    Module,
    ShapeLiteral,
    Var,
)
from reference_vm.ops.definition import DataError, OpDef, Trait
from reference_vm.passes.context import PassContext, Property
from reference_vm.types import TensorType, leaves
from reference_vm.types.arrays import from_numpy, to_numpy

Known: TypeAlias = Union[Constant, ShapeLiteral]


@final
@dataclass(frozen=True)
class FoldConstants:
    """``fold-constants``: compute what is known already."""

    name: ClassVar[str] = "fold-constants"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    limit: int = 65_536
    """The most bytes that a folded result, and its operands together, may have."""

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with constant operators replaced by their results."""
        folded = [_Folder(ctx.ops, self.limit).run(f) for f in module.functions]
        return module.with_functions(folded)


class _Folder:
    """Folds one function; remembers what is known of its variables."""

    def __init__(self, ops: Mapping[str, OpDef], limit: int) -> None:
        self.ops = ops
        self.limit = limit
        self.known: dict[Var, Known] = {}
        self.renamed: dict[Var, Var] = {}

    def run(self, function: Function) -> Function:
        body = rewrite.rebuild(function.body, self._binding, self.renamed)
        return replace(function, body=body)

    def _binding(self, binding: Binding) -> Iterable[Binding]:
        value = binding.value
        if isinstance(value, If):
            return self._if(binding, value)
        if isinstance(value, Call) and not _is_placed(binding):
            folded = self._folded(binding, value)
            if folded is not None:
                var = rewrite.with_type(binding.var, TensorType(folded.dtype, folded.shape))
                self.renamed[binding.var] = var
                binding = Binding(var, folded)
        self._learn(binding)
        return (binding,)

    def _learn(self, binding: Binding) -> None:
        value = binding.value
        if _is_placed(binding):
            return
        if isinstance(value, Alias):
            if value.var in self.known:
                self.known[binding.var] = self.known[value.var]
        elif isinstance(value, Constant) or _is_static(value):
            self.known[binding.var] = value

    def _if(self, binding: Binding, value: If) -> Iterable[Binding]:
        condition = self.known.get(value.condition)
        if not isinstance(condition, Constant):
            return (binding,)
        taken = value.then if any(condition.data) else value.orelse
        if _binds_symbols(taken):
            return (binding,)
        alias = replace(binding, value=Alias(taken.result, value.span))
        self._learn(alias)
        return (*taken.bindings(), alias)

    def _folded(self, binding: Binding, call: Call) -> Constant | None:
        op = self.ops[call.op]
        if not op.has(Trait.EXACT) or op.has(Trait.MOVES_DATA) or call.op == "match_cast":
            return None
        type_ = binding.var.type
        if not isinstance(type_, TensorType) or not self._is_small(type_, op):
            return None
        if any(isinstance(a, Var) and a not in self.known for a in call.args):
            return None
        operands = [self.known[a] if isinstance(a, Var) else None for a in call.args]
        if not operands or sum(_size(o) for o in operands) > self.limit:
            return None
        result = _computed(op, call, operands)
        return None if result is None or result.nbytes > self.limit else _constant(result, call)

    def _is_small(self, type_: TensorType, op: OpDef) -> bool:
        """Whether the result certainly stays small, as far as that can be told beforehand."""
        elements = type_.elements
        if isinstance(elements, int):
            return elements * type_.dtype.itemsize <= self.limit
        return op.has(Trait.DATA_DEPENDENT)


def _is_placed(binding: Binding) -> bool:
    """Whether the program says where the value is made or lives."""
    type_ = binding.var.type
    pinned = type_ is not None and any(leaf.vdevice is not None for leaf in leaves(type_))
    return binding.request is not None or pinned


def _is_static(value: Expr) -> TypeGuard[ShapeLiteral]:
    return isinstance(value, ShapeLiteral) and all(isinstance(d, int) for d in value.dims)


def _binds_symbols(block: Block) -> bool:
    """Whether ``block`` has a ``match_cast``, whose symbols must not be seen outside."""
    return any(
        isinstance(b.value, Call) and b.value.op == "match_cast" for b in rewrite.walk(block)
    )


def _size(known: Known | None) -> int:
    return len(known.data) if isinstance(known, Constant) else 0


def _computed(op: OpDef, call: Call, operands: Sequence[Known | None]) -> Any:
    """Return the result as an array; ``None`` if computing it fails or gives several."""
    try:
        with np.errstate(all="ignore"):
            result = op.compute(np, *map(array_of, operands), **call.attrs)
    except DataError:
        return None
    return None if isinstance(result, tuple) or _has_nan(result) else np.asarray(result)


def _has_nan(result: Any) -> bool:
    return bool(np.any(result != result))


def array_of(known: Known | None) -> Any:
    """Return what operators are given for a constant or a static shape; ``None`` for nothing."""
    if known is None:
        return None
    if isinstance(known, ShapeLiteral):
        return tuple(known.dims)
    return np.frombuffer(known.data, to_numpy(known.dtype)).reshape(known.shape)


def _constant(array: Any, call: Call) -> Constant:
    return Constant(from_numpy(array.dtype), array.shape, array.tobytes(), span=call.span)


__all__ = ["FoldConstants", "array_of"]
