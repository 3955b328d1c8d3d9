"""Run once, while compiling, what depends on constants alone.

Before::

    %k: f32[400] @host = const f32[400] hex "…"
    %w: f32[400] @host = cos(%k)
    %y: f32[n, 400] @host = multiply(%x, %w)

After::

    %w: f32[400] @host = const f32[400] hex "…"
    %y: f32[n, 400] @host = multiply(%x, %w)

`fold-constants` computes what is the same on every device. This pass comes when everything has its
place, and computes the rest by the very kernels of that place, so a value has the bits that a run
would give it. Left to the run are

* what is not on the host, whether the program asks for that or not;
* sums and products of floats, whose order depends on what else is in their kernel;
* what would report bad data: the run says so, with its line;
* what the program would grow by too much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, final

import numpy as np

from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Binding,
    Call,
    Constant,
    Function,
    Module,
    ShapeLiteral,
    Var,
    blocks,
    operands,
)
from reference_vm.loops.kernel import Correlation, Product, Reduce, Rows
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.passes.constant_run import run_constants
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.eliminate_dead_code import EliminateDeadCode
from reference_vm.types import HOST, TensorType

_NO_WORK: Final = frozenset({Trait.MOVES_DATA, Trait.METADATA, Trait.HOST})


@final
@dataclass(frozen=True)
class Precompute:
    """``precompute``: run once what depends on constants alone."""

    name: ClassVar[str] = "precompute"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.DEVICE_LOCAL})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    limit: int = 8 << 20
    """The most bytes by which a function's constants may grow, and that one value may have whose
    operands are smaller."""

    small: int = 65_536
    """If they would grow by more, only values of at most so many bytes are computed."""

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with constants for what depends on them alone."""
        if ctx.host_kernels is None:
            return module
        functions = [
            f if f.is_primitive else self._function(f, module, ctx) for f in module.functions
        ]
        if all(new is old for new, old in zip(functions, module.functions, strict=True)):
            return module
        return EliminateDeadCode().run(module.with_functions(functions), ctx)

    def _function(self, function: Function, module: Module, ctx: PassContext) -> Function:
        known = _Known(ctx.ops, self.limit)
        for binding in rewrite.walk(function.body):
            known.learn(binding)
        wanted = self._chosen(function, known)
        if not wanted:
            return function
        found = run_constants(known.needed(wanted), wanted, module, ctx)

        def change(binding: Binding) -> tuple[Binding, ...]:
            array = found.get(binding.var)
            return (binding if array is None else _bound(binding.var, array),)

        return replace(function, body=rewrite.rebuild(function.body, change, {}))

    def _chosen(self, function: Function, known: _Known) -> list[Var]:
        """Return the variables to be computed: what others read, if that is not too much."""
        reads = Counter(_read_outside(function, known.worked))
        wanted = [v for v in known.worked if reads[v]]
        large = [v for v in wanted if _nbytes(v) > self.small]
        if sum(map(_nbytes, large)) - known.freed(function) <= self.limit:
            return wanted
        return [v for v in wanted if _nbytes(v) <= self.small]


def _read_outside(function: Function, worked: dict[Var, None]) -> Iterator[Var]:
    """Yield what is read by other bindings than those of ``worked``, or is a block's result."""
    for binding in rewrite.walk(function.body):
        if binding.var not in worked:
            yield from operands(binding.value)
        yield from (inner.result for inner in blocks(binding.value))
    yield function.body.result


@final
@dataclass
class _Known:
    """What of a function depends on constants alone, in program order."""

    ops: Mapping[str, OpDef]
    limit: int
    bindings: dict[Var, Binding] = field(default_factory=dict)
    """All of it: constants, views of them, and work."""

    worked: dict[Var, None] = field(default_factory=dict)
    """What takes work: more than another view of a constant."""

    def learn(self, binding: Binding) -> None:
        """Take note of a binding, whose operands were noted before."""
        value, var = binding.value, binding.var
        if isinstance(value, Constant | ShapeLiteral):
            if isinstance(value, Constant) or all(isinstance(d, int) for d in value.dims):
                self.bindings[var] = binding
        elif isinstance(value, Call) and self._is_repeatable(binding, value):
            self.bindings[var] = binding
            is_view = self.ops[value.op].has(Trait.VIEW)
            if not is_view or any(a in self.worked for a in operands(value)):
                self.worked[var] = None

    def _is_repeatable(self, binding: Binding, call: Call) -> bool:
        op, type_, read = self.ops.get(call.op), binding.var.type, operands(call)
        if op is None or op.traits & _NO_WORK or call.op == "match_cast":
            return False
        if not read or not all(v in self.bindings for v in read):
            return False
        if not isinstance(type_, TensorType) or not _is_on_host(type_):
            return False
        if not _has_one_order(op, type_) or not type_.is_static:
            return False
        return _nbytes(binding.var) <= max(self.limit, sum(map(_nbytes, read)))

    def needed(self, wanted: list[Var]) -> list[Binding]:
        """Return what computes ``wanted``, in program order."""
        found, left = set(wanted), list(wanted)
        while left:
            for var in operands(self.bindings[left.pop()].value):
                if var not in found:
                    found.add(var)
                    left.append(var)
        return [b for v, b in self.bindings.items() if v in found]

    def freed(self, function: Function) -> int:
        """Return the bytes of the constants that only what is in ``worked`` reads."""
        kept = set(_read_outside(function, self.worked))
        constants = (v for v, b in self.bindings.items() if isinstance(b.value, Constant))
        return sum(_nbytes(v) for v in constants if v not in kept)


def _is_on_host(type_: TensorType) -> bool:
    return type_.vdevice is not None and type_.vdevice.device == HOST


def _has_one_order(op: OpDef, type_: TensorType) -> bool:
    """Whether a result has the same bits, whatever else is in its kernel."""
    sums = isinstance(op.loops, Reduce | Rows | Product | Correlation)
    return op.has(Trait.EXACT) or not (sums and type_.dtype.is_float)


def _nbytes(var: Var) -> int:
    """Return the bytes of a tensor of known dims; 0 for what is none."""
    if not isinstance(var.type, TensorType) or not isinstance(var.type.elements, int):
        return 0
    return var.type.elements * var.type.dtype.itemsize


def _bound(var: Var, array: Any) -> Binding:
    """Return the binding of a variable to what it came out as."""
    type_, data = var.tensor, np.asarray(array)
    assert data.shape == type_.shape, f"%{var.name}: {type_} came out as {data.shape}"
    constant = Constant(type_.dtype, data.shape, data.tobytes(), span=var.span)
    return Binding(var, constant, type_.vdevice)


__all__ = ["Precompute"]
