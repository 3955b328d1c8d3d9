"""Values and operations: the words in which placement speaks of a function.

A *value* is one tensor's data together with all its views; an *operation* makes values and reads
others on some device. What a data type or a function type holds, the elements of a list or the
parameter of a closure, is a *cell*: a value that stands for every tensor kept there, all on one
device. `function_values` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

    CELL = auto()
    """Whatever is put into a data type or goes through a function value."""


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

    STORE = auto()
    """Put into a cell, where that lives."""

    ARGUMENT = auto()
    """Passed to a function, where its parameter lives."""


class Means(Enum):
    """How a program says that a value is to be seen on another device."""

    COPY = "device_copy"
    """Always a fresh buffer; reads wherever the value is."""

    FIXED = "to_vdevice"
    HINT = "hint_on_device"
    PIN = "pin"
    """A suffix or a placed type on an alias, a view, a projection or an item of a tuple."""


COPY: Final = Means.COPY.value

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
    """The operation that reads; ``None`` for a condition, a view's operand, a move, a result, or a
    kernel that is placed already."""

    device: VirtualDevice | None = None
    """Where to, for a ``RESULT`` or ``MOVE``, and for an ``ARGUMENT`` whose parameter is placed."""

    means: Means | None = None
    """Of a ``MOVE``: how the program asks for it."""

    place: int = -1
    """Of a ``STORE`` the cell, of an ``ARGUMENT`` which leaf of the parameters it is."""

    @property
    def pulls(self) -> bool:
        """Whether what makes the value had better run on ``device``."""
        if self.use in (Use.RESULT, Use.ARGUMENT):
            return True
        return self.means in (Means.HINT, Means.PIN)


@final
@dataclass(slots=True)
class Value:
    """One tensor's data, with all its views."""

    index: int
    origin: Origin
    type: TensorType
    var: Var
    """The variable that first holds it, maybe among other items of a tuple."""

    reads_of: Callable[[int], Sequence[Read]] = field(repr=False)
    """Finds who reads a value; the same for all values of a function."""

    pin: VirtualDevice | None = None
    """Where the program says it lives."""

    operation: int | None = None
    pulls: bool = True
    """Whether the pin pulls operations; the suffix of a constant does not."""

    source: int | None = None
    """Of a moved value: the value that it is moved from."""

    means: Means | None = None
    """Of a moved value: how the program asks for it."""

    @property
    def reads(self) -> Sequence[Read]:
        """Who reads the value: operations first, each kind in program order."""
        return self.reads_of(self.index)


class Kind(Enum):
    """What an operation is."""

    OPERATOR = auto()
    MERGE = auto()
    """One leaf of the result of ``if`` or ``match``, which costs nothing."""

    CALL = auto()
    """A call of a function, which is planned by itself."""


@final
@dataclass(slots=True)
class Operation:
    """Work on some device."""

    index: int
    binding: Binding
    kind: Kind
    operands: tuple[int, ...]
    """The values read where the operation runs."""

    results: tuple[int, ...] = ()
    request: VirtualDevice | None = None
    host_operands: tuple[int, ...] = ()
    """The values read on the host."""

    host_facts: int = 0
    """How many operands are shape values that only a run knows."""

    on_host: bool = False
    """Whether the operator's trait says that it runs on the host."""

    @property
    def merge(self) -> bool:
        return self.kind is Kind.MERGE

    @property
    def reads(self) -> tuple[Read, ...]:
        """What the operation reads, as `Read` says it."""
        pairs = (
            *((v, Use.OPERAND) for v in self.operands),
            *((v, Use.HOST) for v in self.host_operands),
        )
        return tuple(Read(v, use, self.binding, self.index) for v, use in pairs)


@final
@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a function of the module."""

    operation: int
    binding: Binding
    callee: str
    arguments: tuple[int, ...]
    """The value of each leaf of the arguments, those in data types and functions included."""

    results: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class FunctionName:
    """A function of the module named as a value: an expression, or an operand of a call."""

    binding: Binding
    operand: int | None
    """Which operand of the binding's call it is; ``None``: it is the expression."""

    callee: str
    cells: tuple[int, ...]
    """The cells of its parameters' and its result's leaves."""


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """How calls of one operator read their operands."""

    shows: bool
    """Whether the result is its first operand seen otherwise, unless a suffix says where to."""

    metadata: bool
    """Whether the first operand's data is not read."""

    on_host: bool
    host: tuple[bool, ...]
    """For each place of the signature, whether the host reads its data; () if none is so."""

    is_plain: bool
    """Whether all operands are read where the operator runs."""

    def is_host(self, index: int) -> bool:
        """Whether argument ``index`` is read on the host."""
        return bool(self.host) and self.host[min(index, len(self.host) - 1)]

    @classmethod
    def of(cls, op: OpDef) -> Reading:
        host = tuple(op.is_host_operand(i) for i in range(len(op.operands)))
        plain = not any(host) and not op.traits & {Trait.METADATA, Trait.HOST}
        return cls(
            op.has(Trait.VIEW) or op.name == "identity",
            op.has(Trait.METADATA),
            op.has(Trait.HOST),
            host if any(host) else (),
            plain,
        )


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
    "COPY",
    "MOVES",
    "FunctionCall",
    "FunctionName",
    "Kind",
    "Means",
    "Operation",
    "Origin",
    "Read",
    "Reading",
    "Use",
    "Value",
    "is_view",
    "operand_reads",
]
