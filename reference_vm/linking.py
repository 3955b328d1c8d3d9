"""Giving an executable its kernels: each is compiled by the target of its device kind.

Kernels are shared: equal primitive functions, whatever program they come from, are compiled once
for a target and device kind, as long as the process lives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, TypeAlias

from reference_vm.bytecode.executable import KernelSlot
from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir import structural
from reference_vm.ir.nodes import Function
from reference_vm.targets.catalog import check_executor, target_for
from reference_vm.targets.shape_function import ShapeFunction, shape_function
from reference_vm.targets.target import Target

Key: TypeAlias = tuple[str, str, str]
"""Target, device kind, and the function's digest, which its name is part of."""

_KEPT: Final = 4096

_made: Final[dict[Key, Kernel]] = {}
"""The kernels of this process; the oldest goes when there are more than `_KEPT`."""


def link(
    slots: Sequence[KernelSlot], primitives: Sequence[Function], executor: str | None = None
) -> tuple[Kernel, ...]:
    """Return a kernel for each slot, made from the primitive function at the same index.

    Raises:
        CompileError: There is no such executor, or a target cannot compile a function.
    """
    check_executor(executor)
    targets: dict[str, Target] = {s.kind: target_for(s.kind, executor) for s in slots}
    return tuple(
        _kernel(targets[slot.kind], slot.kind, primitive)
        for slot, primitive in zip(slots, primitives, strict=True)
    )


def forget() -> None:
    """Let every kernel be made anew from now on."""
    _made.clear()


def shape_functions(primitives: Sequence[Function]) -> Callable[[int], ShapeFunction]:
    """Return what gives the shape function of the kernel at an index; made when first asked."""

    @cache
    def made(index: int) -> ShapeFunction:
        return shape_function(primitives[index])

    return made


def _kernel(target: Target, kind: str, primitive: Function) -> Kernel:
    key = (target.name, kind, structural.digest(primitive))
    found = _made.get(key)
    if found is None:
        found = _made[key] = target.compile(primitive, kind)
        if len(_made) > _KEPT:
            del _made[next(iter(_made))]
    return found
