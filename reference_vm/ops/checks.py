"""What type rules ask of their operands: dtypes, ranks, and that two agree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from reference_vm.ops.definition import Content, OpCall
from reference_vm.types import UNKNOWN, DType, Shape, ShapeType, TensorType
from reference_vm.types.dtype import COMPUTED, I32, I64

INDICES: Final = (I32, I64)
"""The dtypes of indices."""

MANY: Final = 4096
"""A vector of more elements than this is not followed, not even as so many unknown ones."""


def tensor_of(call: OpCall, index: int, allowed: Collection[DType] = COMPUTED) -> TensorType:
    """Return operand ``index``'s type, a tensor with one of the ``allowed`` dtypes.

    Raises:
        CompileError: ``type-mismatch`` or ``dtype-mismatch``.
    """
    found = call.tensor(index)
    if found.dtype not in allowed:
        listed = ", ".join(map(str, allowed))
        name = call.op.operand(index).name
        raise call.error(
            "dtype-mismatch",
            f"operand {name} has dtype {found.dtype}, expected {listed}",
            f"cast it first: cast(…, to = {next(iter(allowed))})",
        )
    return found


def agree_on_dtype(call: OpCall, indices: Sequence[int]) -> None:
    """Raise ``dtype-mismatch`` unless the tensors among operands ``indices`` have one dtype."""
    first = call.tensor(indices[0])
    for index in indices[1:]:
        if call.present(index) and call.tensor(index).dtype != first.dtype:
            names = call.op.operand(indices[0]).name, call.op.operand(index).name
            raise call.error(
                "dtype-mismatch",
                f"operand {names[0]} has dtype {first.dtype}, but operand {names[1]} has"
                f" {call.tensor(index).dtype}",
                f"no dtype is promoted; cast one: cast(…, to = {first.dtype})",
            )


def expect_rank(call: OpCall, index: int, ranks: Collection[int]) -> None:
    """Raise ``rank-mismatch`` if operand ``index`` certainly has none of the ``ranks``."""
    rank = call.tensor(index).rank
    if rank is None or rank in ranks:
        return
    listed = " or ".join(map(str, ranks))
    name = call.op.operand(index).name
    raise call.error("rank-mismatch", f"operand {name} has rank {rank}, expected {listed}")


def integers(call: OpCall, index: int) -> Content | None:
    """Return what is known of host operand ``index``: a shape value, or an integer vector.

    ``None`` if not even the length is known; elements not known are `UNKNOWN`.

    Raises:
        CompileError: It is neither.
    """
    found = call.types[index]
    if isinstance(found, ShapeType):
        return found.dims
    type_ = tensor_of(call, index, INDICES)
    expect_rank(call, index, (1,))
    return known_or_unknown(call.content(index), type_.shape)


def known_or_unknown(content: Content | None, shape: Shape | None) -> Content | None:
    """Return ``content``, or as many unknown elements as a vector of ``shape`` has."""
    if content is not None:
        return content
    if shape is None or len(shape) != 1 or not isinstance(shape[0], int) or shape[0] > MANY:
        return None
    return (UNKNOWN,) * shape[0]


__all__ = [
    "INDICES",
    "agree_on_dtype",
    "expect_rank",
    "integers",
    "known_or_unknown",
    "tensor_of",
]
