"""The sizes that symbols have in a run, read off its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hettest.language import TensorType, TupleType, Type, lone_symbol, nodes

if TYPE_CHECKING:
    from hettest.backend.protocol import Value


def symbols_of(function: nodes.Function, args: Sequence[Value]) -> Mapping[str, int]:
    """Return each symbol that stands alone as a dim of a parameter, with its size in ``args``."""
    sizes: dict[str, int] = {}
    stack: list[tuple[Type | None, Value]] = [
        (param.type, arg) for param, arg in zip(function.params, args, strict=False)
    ]
    while stack:
        type_, arg = stack.pop()
        if isinstance(type_, TupleType) and isinstance(arg, tuple):
            stack.extend(zip(type_.items, arg, strict=False))
        elif isinstance(type_, TensorType) and not isinstance(arg, tuple | str):
            for dim, size in zip(type_.shape or (), arg.shape, strict=False):
                name = lone_symbol(dim)
                if name is not None:
                    sizes[name] = int(size)
    return sizes
