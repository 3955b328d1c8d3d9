"""Rewriting bytecode: each instruction becomes none, one or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, TypeAlias

from reference_vm import compiler
from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import Branch, BranchTag, Instruction, Jump
from reference_vm.codegen.emit import emit as emit_code
from tests.mutants.mutant import Replacement

Change: TypeAlias = Callable[[Instruction], Sequence[Instruction]]


def rewritten(function: FunctionCode, change: Change) -> FunctionCode:
    """Return ``function`` with every instruction changed and the jumps led to where they led."""
    groups = [tuple(change(i)) for i in function.instructions]
    starts = [0, *accumulate(len(group) for group in groups)]
    flat = tuple(_led(i, starts) for group in groups for i in group)
    return replace(function, instructions=flat)


def _led(instruction: Instruction, starts: Sequence[int]) -> Instruction:
    if isinstance(instruction, Jump):
        return replace(instruction, to=starts[instruction.to])
    if isinstance(instruction, Branch | BranchTag):
        return replace(instruction, orelse=starts[instruction.orelse])
    return instruction


def emitting(rewrite: Callable[[FunctionCode], FunctionCode]) -> Replacement:
    """Return a code generator whose functions come out rewritten."""

    def emit(*args: Any, **options: Any) -> Any:
        code = emit_code(*args, **options)
        functions = tuple(map(rewrite, code.executable.functions))
        return replace(code, executable=replace(code.executable, functions=functions))

    return Replacement(compiler, "emit", emit)


def changing(change: Change) -> Replacement:
    """Return a code generator whose instructions come out changed."""
    return emitting(lambda function: rewritten(function, change))
