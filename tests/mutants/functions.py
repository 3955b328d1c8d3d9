"""Mutants that call, capture and match wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import (
    BranchTag,
    Instruction,
    Kill,
    Share,
    TailInvoke,
)
from reference_vm.runtime import calls
from reference_vm.runtime.frames import Run
from reference_vm.runtime.holds import Closure, taken_apart
from tests.mutants.instructions import changing, emitting, rewritten
from tests.mutants.mutant import Mutant, Replacement, kill


def _item(case: str, run: str) -> str:
    return f"functions/{case}[{run},host=cpu:0,accel=sim:0,policy=copy]"


def _next_tag(instruction: Instruction) -> Sequence[Instruction]:
    if not isinstance(instruction, BranchTag):
        return (instruction,)
    return (replace(instruction, tag=1 - instruction.tag),)


def _stale_argument(function: FunctionCode) -> FunctionCode:
    """Hand the caller's own last parameter on, where it was computed anew."""
    last = len(function.params) - 1

    def change(instruction: Instruction) -> Sequence[Instruction]:
        if isinstance(instruction, Kill):
            return (Kill(tuple(r for r in instruction.registers if r != last)),)
        if not isinstance(instruction, TailInvoke) or len(instruction.args) != last + 1:
            return (instruction,)
        return (replace(instruction, args=(*instruction.args[:-1], last)),)

    return rewritten(function, change)


def _reversed(run: Run, closure: Closure) -> tuple[Any, ...]:
    return tuple(reversed(taken_apart(run, closure)))


def _unshared(instruction: Instruction) -> Sequence[Instruction]:
    return () if isinstance(instruction, Share) else (instruction,)


MUTANTS: Final = (
    Mutant(
        name="takes-another-arm",
        fault_class="C25",
        breaks="takes the arm of the other constructor",
        kills=(kill(_item("called_and_carried", "in-order"), "values"),),
        loading=(changing(_next_tag),),
    ),
    Mutant(
        name="carries-a-stale-argument",
        fault_class="C25",
        breaks="goes round a loop with the last argument as it was before",
        kills=(kill(_item("called_and_carried", "running-10"), "values"),),
        loading=(emitting(_stale_argument),),
    ),
    Mutant(
        name="captures-out-of-order",
        fault_class="C25",
        breaks="hands a closure what it captured in another order",
        kills=(kill(_item("chosen_closures", "up-once"), "values"),),
        running=(Replacement(calls, "taken_apart", _reversed),),
    ),
    Mutant(
        name="drops-what-is-shared",
        fault_class="C10",
        breaks="gives a value back with the first of its holders",
        kills=(kill(_item("lists_and_trees", "update"), "diagnostics"),),
        loading=(changing(_unshared),),
    ),
)
