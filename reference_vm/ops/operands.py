"""What type rules learn from operands that must fit each other: dims of a rank, equal dims."""

from __future__ import annotations

from reference_vm.ops.definition import OpCall
from reference_vm.ops.shapes import same_dim
from reference_vm.types import UNKNOWN, Dim, Shape
from reference_vm.types.types import str_dim


def shaped(call: OpCall, index: int, rank: int) -> Shape:
    """Return operand ``index``'s dims, all unknown where its rank is; its rank is ``rank``.

    Raises:
        CompileError: It has another rank, or is no tensor.
    """
    found = call.tensor(index).shape
    if found is None:
        return (UNKNOWN,) * rank
    if len(found) == rank:
        return found
    name = call.op.operand(index).name
    raise call.error("rank-mismatch", f"operand {name} has rank {len(found)}, expected {rank}")


def agreed(call: OpCall, found: Dim, expected: Dim, what: str) -> Dim:
    """Return the better known of two dims that are to be equal.

    Raises:
        CompileError: They certainly differ.
    """
    dim = same_dim(found, expected)
    if dim is None:
        numbers = f"{str_dim(found)}, expected {str_dim(expected)}"
        raise call.error("shape-mismatch", f"{what} is {numbers}")
    return dim


__all__ = ["agreed", "shaped"]
