"""Integers that operators read on the host: in type rules what is known of them, in runs all."""

from __future__ import annotations

from typing import Any

from reference_vm.ops.checks import INDICES, tensor_of
from reference_vm.ops.definition import OpCall
from reference_vm.types import UNKNOWN, Dim, ShapeType


def known_integer(call: OpCall, index: int) -> Dim:
    """Return the one integer that operand ``index`` holds, as far as it is known.

    Raises:
        CompileError: It certainly holds more or fewer, or no integers.
    """
    found = call.types[index]
    shape = (len(found.dims),) if isinstance(found, ShapeType) and found.dims is not None else None
    if not isinstance(found, ShapeType):
        tensor = tensor_of(call, index, INDICES)
        shape = tensor.shape if tensor.is_static else None  # type: ignore[assignment]
    if shape not in (None, (), (1,)):
        name = call.op.operand(index).name
        raise call.error("rank-mismatch", f"operand {name} is {found}, expected one integer")
    content = call.content(index)
    return content[0] if content else UNKNOWN


def integers(values: Any) -> list[int]:
    """Return the integers of a host operand: a NumPy array or a shape value."""
    flat = values if isinstance(values, tuple) else values.reshape(-1).tolist()
    return [int(v) for v in flat]


def integer(values: Any) -> int:
    """Return the one integer of a host operand."""
    return integers(values)[0]


__all__ = ["integer", "integers", "known_integer"]
