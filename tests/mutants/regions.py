"""Mutants that cut programs into kernels, or hand values to these, in a wrong way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from hettest.language import CompileError, Diagnostic, Module, nodes
from reference_vm.bytecode.instructions import Instruction, Launch
from reference_vm.passes import fuse
from reference_vm.passes.fusion_groups import GroupFinder
from tests.mutants.instructions import changing
from tests.mutants.mutant import Mutant, Replacement, kill
from tests.mutants.programs import rewriting

_ordered = fuse._ordered

BETWEEN: Final = "bugs/c16_region_cycles/kernel_between[plain,between=scan,default=cpu:0]"
ORDERED: Final = (
    "bugs/c17_region_signature/operands_in_order[alone,expr=subtract,default=sim:0]",
    "bugs/c17_region_signature/operands_in_order[chained,expr=matmul,default=cpu:0]",
)
ASKED_FOR: Final = "bugs/c17_region_signature/intermediate_asked_for[plain,also=z,default=cpu:0]"


def _given_up(bindings: Any, units: Any) -> Sequence[list[int]]:
    """Refuse a program whose regions wait for each other."""
    try:
        return list(_ordered(bindings, units))
    except AssertionError as error:
        raise CompileError(Diagnostic("not-lowered", str(error), None)) from error


def _other_order(instruction: Instruction) -> Sequence[Instruction]:
    """Hand the arguments of a kernel over from the last to the first."""
    if not isinstance(instruction, Launch):
        return (instruction,)
    args, values = instruction.args[::-1], instruction.values[::-1]
    return (replace(instruction, args=args, values=values),)


def _last_of_a_region(module: Module) -> Module:
    """Let a value of a region that is asked for be the region's last one."""
    relu: dict[nodes.Var, nodes.Var] = {}

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        value = binding.value
        if isinstance(value, nodes.Call) and value.op == "relu":
            (operand,) = value.args
            assert isinstance(operand, nodes.Var)
            relu[operand] = binding.var
        if isinstance(value, nodes.MakeTuple):
            items = tuple(relu.get(item, item) for item in value.items)
            return (replace(binding, value=replace(value, items=items)),)
        return (binding,)

    return rewriting(change)(module)


MUTANTS: Final = (
    Mutant(
        name="joins-around-a-kernel",
        fault_class="C16",
        breaks="makes one region of operators with a kernel between them, and refuses what it made",
        kills=(kill(BETWEEN, "diagnostics"),),
        loading=(
            Replacement(GroupFinder, "_stays_acyclic", lambda *_: True),
            Replacement(fuse, "_ordered", _given_up),
        ),
    ),
    Mutant(
        name="arguments-in-another-order",
        fault_class="C17",
        breaks="hands a kernel its arguments from the last to the first",
        kills=tuple(kill(item, "values") for item in ORDERED),
        loading=(changing(_other_order),),
    ),
    Mutant(
        name="swallows-what-is-asked-for",
        fault_class="C17",
        breaks="gives a region's last value for one inside it that is a result too",
        kills=(kill(ASKED_FOR, "values"),),
        module=_last_of_a_region,
    ),
)
