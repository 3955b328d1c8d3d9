"""From a module whose values are all placed to bytecode.

Three forms of module are understood, and may be mixed:

* *device-local*: operators are calls, each becomes a kernel of its own;
* *primitive*: kernels are functions marked ``primitive``;
* *planned*: storage is explicit (``vm.alloc_storage``, ``vm.invoke``, ``vm.kill``).

Without a plan every result gets memory of its own, given back after its last use
(`passes.plan_writer`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from reference_vm.analysis.counted import called
from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.verifier import verify
from reference_vm.codegen.functions import emit_function
from reference_vm.codegen.tables import Tables
from reference_vm.ir.nodes import Function, Module
from reference_vm.ops.definition import OpDef


@final
@dataclass(frozen=True)
class Code:
    """What code generation made."""

    executable: Executable
    primitives: tuple[Function, ...]
    """What each of the executable's kernels is to be made from."""


def emit(module: Module, ops: Mapping[str, OpDef]) -> Code:
    """Return the bytecode of a module and the functions that kernels are to be made from.

    Raises:
        CompileError: Something is left that a pass should have removed, or that is not lowered yet.
    """
    tables = Tables()
    tables.declare(module.adts)
    kept = [f for f in module.functions if f.attrs.get("primitive") is not True]
    indices = {f.name: i for i, f in enumerate(kept)}
    entries = {f.name for f in module.entries}
    owning = called(module)
    codes: list[FunctionCode] = [
        emit_function(module, f, ops, tables, indices, f.name in entries, f.name not in owning)
        for f in kept
    ]
    executable = Executable(
        tuple(tables.devices),
        tuple(tables.kernels),
        tuple(tables.constants),
        tuple(codes),
        tuple(tables.data_types),
    )
    verify(executable)
    return Code(executable, tuple(tables.primitives))
