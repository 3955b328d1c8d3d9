"""Simplify until nothing is left to simplify.

In rounds: calls become bodies, items of tuples are named directly, constants are computed, equal
expressions merged, shapes lifted, and what nobody reads goes. Each may leave work for another: what
a call hides is equal to what stands beside it, a closure is known once the tuple is that held it.
So the program that is planned does not depend on how it was written: second names, tuples, calls
and closures that are known cost nothing (`planning.md` section 1).

Before::

    %f = fn(%p: f32[4]) -> f32[4] {
      %m = max(%p) @accel
      return %m
    }
    %t = (%x, %unread)
    %y = %t[0]
    %a = %f(%y)
    %b = max(%x) @accel

After::

    %y = %x
    %m = max(%y) @accel
    %a = %m
    %b = %m                        // %b itself: what read it reads %m

A round costs time in proportion to the program, and most programs need two.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar, Final, final

from reference_vm.ir.nodes import Binding, Block, Module, blocks, operands
from reference_vm.passes.context import Pass, PassContext, Property
from reference_vm.passes.eliminate_common_subexpressions import EliminateCommonSubexpressions
from reference_vm.passes.eliminate_dead_code import EliminateDeadCode
from reference_vm.passes.fold_constants import FoldConstants
from reference_vm.passes.inline_closures import InlineClosures
from reference_vm.passes.inline_functions import InlineFunctions
from reference_vm.passes.lift_shape_functions import LiftShapeFunctions
from reference_vm.passes.resolve_tuples import ResolveTuples

ROUNDS: Final = 16
"""How many rounds there are at most: beyond, a program stays as simple as it has become."""


def round_of_passes() -> tuple[Pass, ...]:
    """Return the passes of one round."""
    return (
        InlineFunctions(),
        ResolveTuples(),
        InlineClosures(),
        FoldConstants(),
        EliminateCommonSubexpressions(),
        LiftShapeFunctions(),
        EliminateDeadCode(),
    )


@final
@dataclass(frozen=True)
class Simplify:
    """``simplify``: run the simplifications until they change nothing."""

    name: ClassVar[str] = "simplify"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` as simple as the passes of a round can make it."""
        passes = round_of_passes()
        for _ in range(ROUNDS):
            before = module
            for pass_ in passes:
                module = pass_.run(module, ctx)
            if _is_same(before, module):
                break
        return module


def _is_same(before: Module, after: Module) -> bool:
    """Whether two modules, one made of the other, are the same to the last variable."""
    if len(before.functions) != len(after.functions):
        return False
    pairs = zip(before.functions, after.functions, strict=True)
    return all(a is b or _is_same_block(a.body, b.body) for a, b in pairs)


def _is_same_block(before: Block, after: Block) -> bool:
    if before.result is not after.result:
        return False
    pairs = zip_longest(before.bindings(), after.bindings())
    return all(a is b or _is_same_binding(a, b) for a, b in pairs)


def _is_same_binding(before: Binding | None, after: Binding | None) -> bool:
    if before is None or after is None or before.var is not after.var:
        return False
    first, second = before.value, after.value
    inner = blocks(first)
    if not inner:
        return first == second
    if type(first) is not type(second) or operands(first) != operands(second):
        return False
    return all(_is_same_block(a, b) for a, b in zip(inner, blocks(second), strict=True))


__all__ = ["Simplify", "round_of_passes"]
