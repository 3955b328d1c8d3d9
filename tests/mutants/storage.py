"""Mutants whose values share memory, outlive their run, or never go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from hettest.backend.protocol import Observation, Options, Rejected
from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import AllocStorage, Instruction, Kill, Launch, Move
from reference_vm.conformance import Executable
from reference_vm.devices import host_memory
from reference_vm.devices.cpu import CpuDevice
from reference_vm.runtime.frames import Run
from tests.mutants.instructions import changing, emitting, rewritten
from tests.mutants.mutant import Mutant, Replacement, Runner, kill
from tests.mutants.transfers import DIAMOND, SHARED

SECOND: Final = "runs/second_run[second,host=cpu:0,accel=sim:0,policy=copy]"
SMALLER: Final = "runs/smaller_afterwards[small,host=cpu:0,accel=sim:0,policy=copy]"


def _one_storage(function: FunctionCode) -> FunctionCode:
    """Let all values of a device lie in one storage, kept to the end."""
    allocations = [i for i in function.instructions if isinstance(i, AllocStorage)]
    size = max((i.size for i in allocations if isinstance(i.size, int)), default=0)
    first: dict[int, int] = {}

    def change(instruction: Instruction) -> Sequence[Instruction]:
        if isinstance(instruction, Kill):
            return ()
        if isinstance(instruction, Launch):
            targets = tuple(replace(t, offset=0) for t in instruction.targets)
            return (replace(instruction, targets=targets),)
        if not isinstance(instruction, AllocStorage):
            return (instruction,)
        if instruction.device in first:
            return (Move(instruction.target, first[instruction.device]),)
        first[instruction.device] = instruction.target
        return (replace(instruction, size=size),)

    return rewritten(function, change)


def _never_killed(instruction: Instruction) -> Sequence[Instruction]:
    return () if isinstance(instruction, Kill) else (instruction,)


def _unfused(options: Options) -> Options:
    return replace(options, extra={**options.extra, "fuse": False})


def _stale() -> Runner:
    """Keep what the first run was given."""
    kept: list[Sequence[Any]] = []

    def run(executable: Executable, entry: str, args: Sequence[Any]) -> Observation:
        kept.append(args)
        return executable.run(entry, kept[0])

    return run


def _broken_by_an_error() -> Runner:
    """Refuse every run after one that failed."""
    failed: list[Rejected] = []

    def run(executable: Executable, entry: str, args: Sequence[Any]) -> Observation:
        if failed:
            raise failed[0]
        try:
            return executable.run(entry, args)
        except Rejected as error:
            failed.append(error)
            raise

    return run


def _view(device: Any, tensor: Any) -> Any:
    return host_memory.view(device, tensor)


MUTANTS: Final = (
    Mutant(
        name="shares-storage",
        fault_class="C10",
        breaks="puts two values that are both still needed in one storage",
        kills=(kill(DIAMOND, "values"),),
        options=_unfused,
        loading=(emitting(_one_storage),),
    ),
    Mutant(
        name="stale-arguments",
        fault_class="C13",
        breaks="runs a second time on the first run's arguments",
        kills=(
            kill(SECOND, "values"),
            kill(SMALLER, "values", "copies", "moved"),
        ),
        runner=_stale,
    ),
    Mutant(
        name="broken-by-an-error",
        fault_class="C13",
        breaks="refuses every run after one that ended in an error",
        kills=(
            kill("runs/after_an_error[next,host=cpu:0,accel=sim:0,policy=copy]", "diagnostics"),
        ),
        runner=_broken_by_an_error,
    ),
    Mutant(
        name="returns-an-argument",
        fault_class="C15",
        breaks="hands out device memory as results, so an argument comes back as itself",
        kills=(kill("runs/argument_returned[plain,default=cpu:0]", "arguments"),),
        running=(Replacement(CpuDevice, "download", _view),),
    ),
    Mutant(
        name="leaks",
        breaks="gives no memory back",
        kills=(kill(SHARED, "memory"), kill(DIAMOND, "memory")),
        loading=(changing(_never_killed),),
        running=(Replacement(Run, "close", lambda run: None),),
    ),
)
