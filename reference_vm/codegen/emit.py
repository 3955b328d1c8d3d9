"""From a module whose values are all placed to bytecode.

Three forms of module are understood, and may be mixed:

* *device-local*: operators are calls, each becomes a kernel of its own;
* *primitive*: kernels are functions marked ``primitive``;
* *planned*: storage is explicit (``vm.alloc_storage``, ``vm.invoke``, ``vm.kill``).

Without a plan every result gets memory of its own, given back after its last use (`lifetimes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

from reference_vm.analysis.recursion import mentioned
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
    kept = [f for f in module.functions if f.attrs.get("primitive") is not True]
    indices = {f.name: i for i, f in enumerate(kept)}
    entries = {f.name for f in module.entries}
    called = {name for f in kept for name in mentioned(f)}
    codes: list[FunctionCode] = [
        replace(
            emit_function(module, function, ops, tables, indices, function.name in entries),
            lent=function.name not in called,
        )
        for function in kept
    ]
    executable = Executable(
        tuple(tables.devices), tuple(tables.kernels), tuple(tables.constants), tuple(codes)
    )
    verify(executable)
    return Code(executable, tuple(tables.primitives))
