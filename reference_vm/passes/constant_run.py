"""Runs work on constants by the kernels that it would have in a program.

The work is put into primitive functions, as `fuse` does; each is compiled for its device and run
once. One that finds bad data gives nothing, and neither does what reads its results: a run of the
program is to say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np

from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Call,
    Constant,
    Function,
    GlobalRef,
    Invoke,
    MakeTuple,
    Module,
    Operand,
    Project,
    ShapeLiteral,
    Var,
)
from reference_vm.ops.definition import DataError, OpDef
from reference_vm.passes.context import PassContext
from reference_vm.passes.fold_constants import array_of
from reference_vm.passes.fuse import Fuse
from reference_vm.types import TupleType

Array: TypeAlias = Any
"""A NumPy array; a tuple of integers for a shape value."""


def run_constants(
    work: Sequence[Binding], wanted: Sequence[Var], module: Module, ctx: PassContext
) -> Mapping[Var, Array]:
    """Return the values of those variables of ``wanted`` that could be computed.

    Args:
        work: Constants, static shapes and calls on what comes before, all on the host.
        wanted: Variables that ``work`` binds.
        module: What the work is of.
        ctx: Says how kernels of the host are made.
    """
    assert ctx.host_kernels is not None
    types = tuple(v.type for v in wanted if v.type is not None)
    result = Var("results", TupleType(types))
    body = Block((*work, Binding(result, MakeTuple(tuple(wanted)))), result)
    program = module.with_functions([Function("main", (), TupleType(types), body)])
    fused = Fuse().run(program, ctx)
    primitives = {f.name: f for f in fused.functions if f.is_primitive}
    run = _Run(primitives, ctx.ops, ctx.host_kernels)
    with np.errstate(all="ignore"):
        for binding in fused.by_name["main"].body.bindings():
            run.step(binding)
    return {v: run.values[v] for v in wanted if v in run.values}


@final
@dataclass
class _Run:
    """The values so far."""

    primitives: Mapping[str, Function]
    ops: Mapping[str, OpDef]
    compile: Callable[[Function], Kernel]
    values: dict[Operand, Any] = field(default_factory=dict)
    kernels: dict[str, Kernel] = field(default_factory=dict)

    def step(self, binding: Binding) -> None:
        try:
            found = tuple(self._results(binding))
        except DataError:
            return
        if found:
            self.values[binding.var] = found[0]

    def _results(self, binding: Binding) -> Iterator[Any]:
        """Yield what a binding is; nothing if an operand could not be computed."""
        match binding.value:
            case Constant() | ShapeLiteral() as known:
                yield array_of(known)
            case Project(tuple=whole, index=index) if whole in self.values:
                yield self.values[whole][index]
            case Call(op=op, args=args, attrs=attrs) if self._are_known(args):
                given = [self.values.get(a) for a in args]
                yield np.ascontiguousarray(self.ops[op].compute(np, *given, **attrs))
            case Invoke(callee=GlobalRef(function=name), args=args) if self._are_known(args):
                results = self._kernel(name)(np, [self.values.get(a) for a in args], _none(binding))
                yield results if isinstance(binding.var.type, TupleType) else results[0]
            case _:
                return

    def _are_known(self, args: Sequence[Operand]) -> bool:
        return all(a is None or a in self.values for a in args)

    def _kernel(self, name: str) -> Kernel:
        if name not in self.kernels:
            self.kernels[name] = self.compile(self.primitives[name])
        return self.kernels[name]


def _none(binding: Binding) -> list[None]:
    """Return that no result has memory yet."""
    type_ = binding.var.type
    return [None] * (len(type_.items) if isinstance(type_, TupleType) else 1)


__all__ = ["run_constants"]
