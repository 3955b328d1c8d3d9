"""The bytecode verifier says what is wrong with a compiled program, all at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reference_vm.bytecode.executable import Executable, FunctionCode, KernelSlot, Parameter
from reference_vm.bytecode.instructions import (
    Branch,
    Instruction,
    Invoke,
    Jump,
    Kill,
    Launch,
    LoadConstant,
    Move,
    Return,
    Site,
    Target,
)
from reference_vm.bytecode.verifier import BytecodeError, problems, verify
from reference_vm.types import HOST, TensorType
from reference_vm.types.dtype import F32

TYPE = TensorType(F32, (4,))
SITE = Site("add")


def launch(target: int, *args: int, kernel: int = 0, device: int = 0) -> Launch:
    return Launch(kernel, device, args, (Target(target, F32, (4,)),), (None,) * len(args), SITE)


def program(*instructions: Instruction, registers: int = 3) -> Executable:
    code = FunctionCode("f", (Parameter("x", TYPE),), TYPE, registers, (), instructions)
    return Executable((HOST,), (KernelSlot("add", "cpu"),), (), (code,))


def test_a_well_formed_program_has_no_problems() -> None:
    verify(program(launch(1, 0, 0), Kill((2,)), Return(1)))


def test_a_register_filled_on_both_ways_of_a_branch_may_be_read() -> None:
    verify(program(Branch(0, 3), Move(1, 0), Jump(4), Move(1, 0), Return(1)))


@pytest.mark.parametrize(
    ("instructions", "found"),
    [
        ((), "@f: has no instructions"),
        ((launch(1, 0),), "@f: 0: a path does not end in a return"),
        ((Return(1),), "@f: 0: register 1 is read, but may be empty"),
        (
            (Branch(0, 2), Move(1, 0), Return(1)),
            "@f: 2: register 1 is read, but may be empty",
        ),
        ((launch(9, 0), Return(0)), "@f: 0: there is no register 9"),
        ((Kill((7,)), Return(0)), "@f: 0: there is no register 7"),
        ((Jump(0), Return(0)), "@f: 0: jumps back to 0"),
        ((launch(1, 0, kernel=1), Return(1)), "@f: 0: kernel 1 is not in the table of 1"),
        ((launch(1, 0, device=1), Return(1)), "@f: 0: device 1 is not in the table of 1"),
        ((LoadConstant(1, 0), Return(1)), "@f: 0: constant 0 is not in the table of 0"),
        ((Invoke(1, 4, (0,), SITE), Return(1)), "@f: 0: function 4 is not in the table of 1"),
        ((Invoke(1, 0, (), SITE), Return(1)), "@f: 0: @f takes 1 arguments, not 0"),
    ],
)
def test_a_problem_is_named_with_its_place(instructions: Sequence[Instruction], found: str) -> None:
    executable = program(*instructions)
    assert found in list(problems(executable))
    with pytest.raises(BytecodeError):
        verify(executable)


def test_what_no_path_leads_to_is_not_judged_by_its_registers() -> None:
    verify(program(Jump(2), Return(1), Return(0)))
