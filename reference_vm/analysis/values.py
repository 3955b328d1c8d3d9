"""Values and operations: the words in which placement speaks of a function.

A *value* is one tensor's data together with all its views; an *operation* makes values and reads
others on some device; a *face* is one way to see a value. `function_values` finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, final

from reference_vm.ir.nodes import Binding, Call, Var
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.types import TensorType, VirtualDevice


class Origin(Enum):
    """Where a value comes from."""

    PARAMETER = auto()
    CONSTANT = auto()
    OPERATION = auto()
    MOVED = auto()
    """Another value, from here on seen where a pin says."""


class Use(Enum):
    """How a value is read."""

    OPERAND = auto()
    """By an operation, where that runs."""

    HOST = auto()
    """On the host: a condition, a reshape target, the bounds of a slice."""

    RESULT = auto()
    """Returned by the function, whose result is placed."""

    MOVE = auto()
    """By a value moved from it."""


class Means(Enum):
    """How a program says that a value is to be seen on another device."""

    COPY = "device_copy"
    """Always a fresh buffer; reads wherever the value is."""

    FIXED = "to_vdevice"
    HINT = "hint_on_device"
    PIN = "pin"
    """A suffix or a placed type on an alias, a view, a projection or an item of a tuple."""


MOVES: Final = {m.value: m for m in (Means.COPY, Means.FIXED, Means.HINT)}
"""The operators that move values, by name."""


@final
@dataclass(frozen=True, slots=True)
class Read:
    """One read of one value."""

    value: int
    use: Use
    binding: Binding | None
    """Where it is read; ``None`` for a result."""

    operation: int | None = None
    """The reading operation of an ``OPERAND`` or ``HOST`` read; ``None`` for a condition."""

    device: VirtualDevice | None = None
    """Where to, for a ``RESULT`` or ``MOVE``."""

    means: Means | None = None
    """Of a ``MOVE``: how the program asks for it."""

    @property
    def pulls(self) -> bool:
        """Whether what makes the value had better run on ``device``."""
        return self.use is Use.RESULT or self.means in (Means.HINT, Means.PIN)


@final
@dataclass(slots=True)
class Value:
    """One tensor's data, with all its views."""

    index: int
    origin: Origin
    type: TensorType
    var: Var
    """The variable that first holds it, maybe among other items of a tuple."""

    pin: VirtualDevice | None = None
    """Where the program says it lives."""

    pulls: bool = True
    """Whether the pin pulls operations; the suffix of a constant does not."""

    operation: int | None = None
    source: int | None = None
    """Of a moved value: the value that it is moved from."""

    means: Means | None = None
    """Of a moved value: how the program asks for it."""

    reads: list[Read] = field(default_factory=list)


@final
@dataclass(frozen=True, slots=True)
class View:
    """A face that is another face seen with another shape."""

    face: int
    binding: Binding


@final
@dataclass(frozen=True, slots=True)
class Face:
    """One way to see a value: its own, or through a view."""

    value: int
    view: View | None = None


@final
@dataclass(slots=True)
class Operation:
    """Work on some device: an operator call, or the merge of one leaf of an ``if``."""

    index: int
    binding: Binding
    merge: bool
    reads: tuple[Read, ...]
    host_facts: int
    """How many operands are shape values that only a run knows."""

    results: tuple[int, ...] = ()
    request: VirtualDevice | None = None
    on_host: bool = False
    """Whether the operator's trait says that it runs on the host."""


def is_view(binding: Binding, call: Call, op: OpDef) -> bool:
    """Whether ``call`` shows its first operand's value rather than makes one.

    A suffix makes an operator of any view but ``match_cast``, whose suffix is a pin.
    """
    shows = op.has(Trait.VIEW) or call.op == "identity"
    return shows and (binding.request is None or call.op == "match_cast")


def operand_reads(call: Call, op: OpDef) -> Iterator[tuple[Var, bool]]:
    """Yield the operands of ``call`` whose data is read, each with whether the host reads it."""
    for index, arg in enumerate(call.args):
        if not isinstance(arg, Var) or not isinstance(arg.type, TensorType):
            continue
        if index > 0 or not op.has(Trait.METADATA):
            yield arg, op.is_host_operand(index)


__all__ = [
    "MOVES",
    "Face",
    "Means",
    "Operation",
    "Origin",
    "Read",
    "Use",
    "Value",
    "View",
    "is_view",
    "operand_reads",
]
