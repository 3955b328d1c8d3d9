"""Is a program's bytecode well formed, each kernel's signature included?"""

from __future__ import annotations

from collections.abc import Sequence

from reference_vm.bytecode.executable import Executable
from reference_vm.bytecode.verifier import BytecodeError, Verdict, judge
from reference_vm.ir.nodes import Function
from reference_vm.program.kernels import signature


def judged(executable: Executable, kernels: Sequence[Function]) -> Verdict:
    """Return the verdict on bytecode whose kernels are these primitive functions."""
    return judge(executable, [*map(signature, kernels)])


def check_bytecode(executable: Executable, kernels: Sequence[Function]) -> None:
    """Raise `BytecodeError` with all that is wrong, unless nothing is: then it can be loaded."""
    found = judged(executable, kernels).problems
    if found:
        raise BytecodeError("\n".join(found))


__all__ = ["check_bytecode", "judged"]
