"""Is what lies in panels read only by kernels that expect it so, and the other way round?

A kernel that expects panels reads past the end of a matrix that is not in them.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference_vm.bytecode.checking.state import Problems, Signature
from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import Kill, Launch, LoadConstant, Register, reads, writes
from reference_vm.types import TensorType


def panel_problems(executable: Executable, signatures: Sequence[Signature]) -> Problems:
    """Yield one line for each thing that is wrong."""
    for index, slot in enumerate(executable.constants):
        if slot.packed and (len(slot.shape) != 2 or not slot.dtype.is_float):
            yield f"constant {index} is in panels, but is no matrix of floats"
    for index, signature in enumerate(signatures):
        for param in signature.panels:
            if not 0 <= param < len(signature.params) or not _is_matrix(signature, param):
                yield f"kernel {index}: parameter {param} is no matrix of known dims, for panels"
                return
    for function in executable.functions:
        for text in _function_problems(executable, function, signatures):
            yield f"@{function.name}: {text}"


def _is_matrix(signature: Signature, param: int) -> bool:
    type_ = signature.params[param]
    dims = type_.shape if isinstance(type_, TensorType) else None
    return dims is not None and len(dims) == 2 and all(isinstance(d, int) for d in dims)


def _function_problems(
    executable: Executable, function: FunctionCode, signatures: Sequence[Signature]
) -> Problems:
    packed = _packed(executable, function)
    for at, instruction in enumerate(function.instructions):
        expected: tuple[int, ...] = ()
        if isinstance(instruction, Launch):
            expected = signatures[instruction.kernel].panels
            for index, register in enumerate(instruction.args):
                if (index in expected) != (register in packed):
                    yield f"{at}: argument {index} is in panels for one of the two sides only"
        elif not isinstance(instruction, Kill) and packed.intersection(reads(instruction)):
            yield f"{at}: reads a constant that is in panels"


def _packed(executable: Executable, function: FunctionCode) -> frozenset[Register]:
    """Return the registers that only ever hold one constant, which is in panels."""
    loaded: dict[Register, int] = {}
    for instruction in function.instructions:
        for register in writes(instruction):
            is_load = isinstance(instruction, LoadConstant)
            constant = instruction.constant if isinstance(instruction, LoadConstant) else -1
            known = loaded.get(register, constant)
            loaded[register] = constant if is_load and known == constant else -1
    for register in range(len(function.params)):
        loaded[register] = -1
    constants = executable.constants
    return frozenset(r for r, c in loaded.items() if c >= 0 and constants[c].packed)


__all__ = ["panel_problems"]
