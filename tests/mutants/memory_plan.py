"""Mutants that plan memory as public reports say that others did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from hettest.backend.protocol import Observation
from hettest.language import Module
from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import AllocStorage, Branch, Instruction, Kill, Launch
from reference_vm.conformance import Executable
from reference_vm.devices import host_memory
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dim import substitute
from tests.mutants.instructions import emitting, rewritten
from tests.mutants.kernels import computing
from tests.mutants.mutant import Mutant, Replacement, Runner, kill

BRANCHES: Final = (
    "bugs/c11_memory_scopes/work_in_both_branches"
    "[then,role=accel,host=cpu:0,accel=sim:0,policy=copy]"
)
UNREAD: Final = "bugs/c11_memory_scopes/result_that_nobody_reads[values,default=sim:0]"
UNBOUNDED: Final = "bugs/c12_memory_bounds/no_upper_bound[more,default=sim:0]"
BEYOND: Final = "bugs/c12_memory_bounds/upper_bound[beyond,default=sim:0]"
EARLIER: Final = (
    "bugs/c13_state_between_runs/earlier_results_stay[second,host=cpu:0,accel=sim:0,policy=copy]"
)
SIBLINGS: Final = "bugs/c14_write_order/sibling_views[plain,views=of-a-value,default=sim:0]"


def _killed_before_branches(function: FunctionCode) -> FunctionCode:
    """Give back before each branch all storages that were made before it and still are there."""
    early: dict[int, Kill] = {}
    made: dict[int, None] = {}
    for instruction in function.instructions:
        if isinstance(instruction, AllocStorage):
            made[instruction.target] = None
        elif isinstance(instruction, Kill):
            made = {r: None for r in made if r not in instruction.registers}
        elif isinstance(instruction, Branch) and made:
            early[id(instruction)] = Kill(tuple(made))
            made = {}

    def change(instruction: Instruction) -> Sequence[Instruction]:
        before = early.get(id(instruction))
        return (instruction,) if before is None else (before, instruction)

    return rewritten(function, change)


def _outputs_in_one_storage(function: FunctionCode) -> FunctionCode:
    """Let all results of a kernel lie where the first of them does, which is made large enough."""
    launches = [i for i in function.instructions if isinstance(i, Launch) and len(i.targets) > 1]
    first = {t.storage for launch in launches for t in launch.targets[:1]}

    def change(instruction: Instruction) -> Sequence[Instruction]:
        if isinstance(instruction, AllocStorage) and instruction.target in first:
            return (replace(instruction, size=256),)
        if not isinstance(instruction, Launch):
            return (instruction,)
        targets = instruction.targets
        together = [replace(t, storage=targets[0].storage, offset=0) for t in targets[1:]]
        return (replace(instruction, targets=(*targets[:1], *together)),)

    return rewritten(function, change)


def _least_sizes(function: FunctionCode) -> FunctionCode:
    """Take for each size the least that it can be."""
    least = {name: bound.lower for name, bound in function.bounds.items()}

    def change(instruction: Instruction) -> Sequence[Instruction]:
        if not isinstance(instruction, AllocStorage):
            return (instruction,)
        return (replace(instruction, size=substitute(instruction.size, least)),)

    return rewritten(function, change)


_view = host_memory.view


def _as_much_as_there_is(device: Any, tensor: Any) -> Any:
    """See what fits into the memory; the rest is zeros, and what is written there is lost."""
    memory = tensor.buffer.memory[tensor.offset :]
    if len(memory) >= tensor.nbytes:
        return _view(device, tensor)
    dtype = to_numpy(tensor.dtype)
    whole = memory[: len(memory) // dtype.itemsize * dtype.itemsize].view(dtype)
    return np.concatenate([whole, np.zeros(math.prod(tensor.shape), dtype)])[
        : math.prod(tensor.shape)
    ].reshape(tensor.shape)


def _without_upper_bounds(module: Module) -> Module:
    return module.with_functions([replace(f, bounds=()) for f in module.functions])


def _one_memory_for_results() -> Runner:
    """Return every run's results in the arrays of the first run."""
    kept: list[Any] = []

    def run(executable: Executable, entry: str, args: Sequence[Any]) -> Observation:
        seen = executable.run(entry, args)
        kept.append(seen.results)
        return replace(seen, results=_filled(kept[0], seen.results))

    return run


def _filled(target: Any, source: Any) -> Any:
    if isinstance(target, tuple):
        return tuple(_filled(t, s) for t, s in zip(target, source, strict=True))
    target[...] = source
    return target


def _multiply_in_place(xp: Any, x: Any, y: Any) -> Any:
    fits = x.shape == np.broadcast_shapes(x.shape, y.shape)
    return np.multiply(x, y, out=x if fits else None)


MUTANTS: Final = (
    Mutant(
        name="gives-back-before-the-branch",
        fault_class="C11",
        breaks="gives back before a branch what its arms still read",
        kills=(kill(BRANCHES, "diagnostics"),),
        loading=(emitting(_killed_before_branches),),
    ),
    Mutant(
        name="unread-result-in-the-way",
        fault_class="C11",
        breaks="puts a result that nobody reads into the memory of one that is read",
        kills=(kill(UNREAD, "values"),),
        loading=(emitting(_outputs_in_one_storage),),
    ),
    Mutant(
        name="takes-the-least-size",
        fault_class="C12",
        breaks="allocates for the lower bound of each size, and loses what does not fit",
        kills=(kill(UNBOUNDED, "values"),),
        loading=(emitting(_least_sizes),),
        running=(Replacement(host_memory, "view", _as_much_as_there_is),),
    ),
    Mutant(
        name="forgets-upper-bounds",
        fault_class="C12",
        breaks="runs sizes that are beyond the bound that the program states",
        kills=(kill(BEYOND, "diagnostics"),),
        module=_without_upper_bounds,
    ),
    Mutant(
        name="returns-in-the-same-memory",
        fault_class="C13",
        breaks="writes the results of each run over those of the run before",
        kills=(kill(EARLIER, "arguments"),),
        runner=_one_memory_for_results,
    ),
    Mutant(
        name="multiplies-in-place",
        fault_class="C14",
        breaks="writes a product over its first operand, whoever still reads that",
        kills=(kill(SIBLINGS, "values"),),
        loading=(computing({"multiply": _multiply_in_place}),),
    ),
)
