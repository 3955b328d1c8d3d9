"""The instructions of the virtual machine.

An instruction reads and writes *registers* of a frame. A register holds a tensor, a storage, a
tuple, a value of a data type, a closure, a host value (a NumPy array or a tuple of ints that
decides a shape), or nothing. Devices, kernels, constants, functions and data types are named by
their index in the tables of the `Executable`.

Jumps only go forward; a loop is a call in tail position, whose frame takes the caller's place.

**Holds.** Each buffer, each value of a data type and each closure is given back with the last hold
on it. Whatever makes one has the first hold; `Share` takes one more, `Kill` gives one up. What only
gives a value another name (`Move`, `View`, `MatchCast`, `Project`, `GetField`, `MakeTuple`) takes
none: the new name may stand for the old one's hold, and a tuple for those of its items. A hold is
*handed over* by `MakeData` and `MakeClosure` (of each field and captured value, to what is made),
by calls (of each argument, and of the closure, to the callee) and by `Return` (of the result, to
the caller). A function that is called from outside only is lent its parameters: the run holds them
to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, Union, final

from reference_vm.source import Span
from reference_vm.types import GLOBAL_SCOPE, Dim, DType, Shape, ShapeType, TensorType, Unknown

Register: TypeAlias = int


@final
@dataclass(frozen=True, slots=True)
class Site:
    """What in the program an instruction comes from."""

    op: str
    """The operator; for a fused kernel its own name."""

    defines: tuple[str, ...] = ()
    """The source variables computed here, fused-away ones included."""

    span: Span | None = None


@final
@dataclass(frozen=True, slots=True)
class Target:
    """A tensor that an instruction makes."""

    register: Register
    dtype: DType
    shape: Shape | None
    """Numbers and expressions of the frame's symbols; a dim that only the run tells is unknown."""

    value: str | None = None
    """The source variable it is."""

    storage: Register | None = None
    """The storage it lies in; ``None``: it gets memory of its own."""

    offset: int = 0
    scope: str = GLOBAL_SCOPE
    """The memory scope that it is for, on its device."""

    @property
    def is_sized(self) -> bool:
        """Whether its size is known before it is computed."""
        return self.shape is not None and not any(isinstance(d, Unknown) for d in self.shape)


@final
@dataclass(frozen=True, slots=True)
class LoadConstant:
    """``target = constants[constant]``; no work: it was placed when the program was loaded."""

    target: Register
    constant: int


@final
@dataclass(frozen=True, slots=True)
class AllocStorage:
    """``target`` = ``size`` fresh bytes of a device."""

    target: Register
    device: int
    size: Dim
    site: Site
    scope: str = GLOBAL_SCOPE


@final
@dataclass(frozen=True, slots=True)
class TakeStorage:
    """``target`` = the memory of a donated parameter's tensor, as a storage.

    The storage stands for the hold on it. Until something is written there, the tensor can be read.
    Where the memory is not the run's alone, or is smaller than ``size``, fresh bytes are taken.
    """

    target: Register
    source: Register
    device: int
    size: Dim
    site: Site
    scope: str = GLOBAL_SCOPE


@final
@dataclass(frozen=True, slots=True)
class Launch:
    """Run a kernel on a device."""

    kernel: int
    device: int
    args: tuple[Register, ...]
    targets: tuple[Target, ...]
    values: tuple[str | None, ...]
    """The source variable that each argument is."""

    site: Site


@final
@dataclass(frozen=True, slots=True)
class HostOp:
    """Run an operator that yields a host fact: ``shape_of``, ``size_of``.

    An argument that is a tensor is read for its shape only, wherever it lies.
    """

    kernel: int
    args: tuple[Register, ...]
    target: Target | Register
    """A tensor on the host, or the register of a tuple of ints."""

    values: tuple[str | None, ...]
    site: Site


@final
@dataclass(frozen=True, slots=True)
class ReadHost:
    """``target`` = the data of a tensor on the host, to decide a shape or a branch."""

    target: Register
    source: Register
    value: str | None
    site: Site


@final
@dataclass(frozen=True, slots=True)
class Copy:
    """Copy a tensor to a device."""

    target: Target
    source: Register
    device: int
    cause: str
    """``read``, ``host``, ``result``, ``explicit`` or ``argument``."""

    value: str | None
    """The value moved."""

    reader: str | None
    line: int | None
    site: Site


@final
@dataclass(frozen=True, slots=True)
class View:
    """``target`` = the memory of ``source`` seen with another shape; makes no record."""

    target: Target
    source: Register
    kernel: int | None
    """What computes the shape from ``source``'s shape and ``args`` where it is not known."""

    args: tuple[Register, ...]
    site: Site


@final
@dataclass(frozen=True, slots=True)
class MatchCast:
    """``target = source``, after its dims were checked and new symbols bound to them."""

    target: Register
    source: Register
    type: TensorType | ShapeType
    binds: tuple[tuple[int, str], ...]
    """Axis and symbol, for each symbol that gets its value here."""

    site: Site


@final
@dataclass(frozen=True, slots=True)
class MakeShape:
    """``target`` = the numbers that ``dims`` are; of a reshape -1 and 0 may be among them."""

    target: Register
    dims: Shape
    site: Site


@final
@dataclass(frozen=True, slots=True)
class MakeTuple:
    target: Register
    items: tuple[Register, ...]


@final
@dataclass(frozen=True, slots=True)
class Project:
    target: Register
    source: Register
    index: int


@final
@dataclass(frozen=True, slots=True)
class Move:
    target: Register
    source: Register


@final
@dataclass(frozen=True, slots=True)
class Branch:
    """Go on if the host value ``condition`` is not zero, else jump."""

    condition: Register
    orelse: int
    """The index of the instruction to go to."""


@final
@dataclass(frozen=True, slots=True)
class Jump:
    to: int


@final
@dataclass(frozen=True, slots=True)
class Invoke:
    """Call a function."""

    target: Register
    function: int
    args: tuple[Register, ...]
    site: Site


@final
@dataclass(frozen=True, slots=True)
class TailInvoke:
    """Call a function whose result is this frame's; its frame takes the place of this one."""

    function: int
    args: tuple[Register, ...]
    site: Site


@final
@dataclass(frozen=True, slots=True)
class MakeClosure:
    """``target`` = a function that has its first arguments already, maybe none."""

    target: Register
    function: int
    captured: tuple[Register, ...]
    """One for each of the first parameters of the function."""

    site: Site


@final
@dataclass(frozen=True, slots=True)
class InvokeClosure:
    """Call a closure with the arguments that it has not got yet."""

    target: Register
    closure: Register
    args: tuple[Register, ...]
    site: Site


@final
@dataclass(frozen=True, slots=True)
class TailInvokeClosure:
    """Call a closure whose result is this frame's; its frame takes the place of this one."""

    closure: Register
    args: tuple[Register, ...]
    site: Site


@final
@dataclass(frozen=True, slots=True)
class MakeData:
    """``target`` = a value of a data type, made by one of its constructors."""

    target: Register
    data_type: int
    tag: int
    """Which constructor of the data type, counted from 0."""

    fields: tuple[Register, ...]
    site: Site


@final
@dataclass(frozen=True, slots=True)
class BranchTag:
    """Go on if the constructor ``tag`` made the value in ``source``, else jump."""

    source: Register
    data_type: int
    tag: int
    orelse: int
    """The index of the instruction to go to."""


@final
@dataclass(frozen=True, slots=True)
class GetField:
    """``target`` = field ``index`` of the value in ``source``, which constructor ``tag`` made."""

    target: Register
    source: Register
    data_type: int
    tag: int
    index: int


@final
@dataclass(frozen=True, slots=True)
class Fail:
    """End the run with an error."""

    code: str
    message: str
    site: Site


@final
@dataclass(frozen=True, slots=True)
class Share:
    """Take one more hold on what each of the registers holds: of a tuple, on each item.

    Memory that the run did not allocate (constants, a caller's arrays) is not counted.
    """

    registers: tuple[Register, ...]


@final
@dataclass(frozen=True, slots=True)
class Kill:
    """Give up a hold on what each of the registers holds, which are empty then.

    With the last one the memory is given back, unless it is not the run's to give. With a value
    of a data type or a closure go the holds of its fields or captured values. Memory that is not
    shared may be killed by several names at once: what was given back before is left alone.
    """

    registers: tuple[Register, ...]


@final
@dataclass(frozen=True, slots=True)
class Poison:
    """Nobody reads the tensors in the registers any more: a checked run makes them unreadable."""

    registers: tuple[Register, ...]


@final
@dataclass(frozen=True, slots=True)
class Return:
    source: Register


Instruction: TypeAlias = Union[
    LoadConstant,
    AllocStorage,
    TakeStorage,
    Launch,
    HostOp,
    ReadHost,
    Copy,
    View,
    MatchCast,
    MakeShape,
    MakeTuple,
    Project,
    Move,
    Branch,
    Jump,
    Invoke,
    TailInvoke,
    MakeClosure,
    InvokeClosure,
    TailInvokeClosure,
    MakeData,
    BranchTag,
    GetField,
    Fail,
    Share,
    Kill,
    Poison,
    Return,
]


def reads(instruction: Instruction) -> Iterator[Register]:
    """Yield the registers that must hold something when ``instruction`` runs."""
    match instruction:
        case Launch(args=args, targets=targets):
            yield from args
            yield from (t.storage for t in targets if t.storage is not None)
        case HostOp(args=args):
            yield from args
        case Copy(source=source, target=target):
            yield source
            if target.storage is not None:
                yield target.storage
        case View(source=source, args=args):
            yield source
            yield from args
        case MakeTuple(items=items):
            yield from items
        case Branch(condition=condition):
            yield condition
        case Share(registers=registers) | Poison(registers=registers):
            yield from registers
        case Invoke() | TailInvoke() | MakeClosure() | InvokeClosure() | TailInvokeClosure():
            yield from handed_over(instruction)
        case MakeData():
            yield from handed_over(instruction)
        case LoadConstant() | AllocStorage() | MakeShape() | Jump() | Fail() | Kill():
            pass
        case _:
            yield instruction.source


def handed_over(instruction: Instruction) -> tuple[Register, ...]:
    """Return the registers whose holds ``instruction`` hands over, as often as it does."""
    match instruction:
        case Invoke(args=args) | TailInvoke(args=args):
            return args
        case InvokeClosure(closure=closure, args=args):
            return (closure, *args)
        case TailInvokeClosure(closure=closure, args=args):
            return (closure, *args)
        case MakeClosure(captured=captured):
            return captured
        case MakeData(fields=fields):
            return fields
        case Return(source=source):
            return (source,)
        case _:
            return ()


def leaves_frame(instruction: Instruction) -> bool:
    """Whether nothing of the frame runs after ``instruction``."""
    return isinstance(instruction, Return | TailInvoke | TailInvokeClosure | Fail)


def jump_of(instruction: Instruction) -> int | None:
    """Return the index of the instruction that ``instruction`` may jump to, if it may."""
    match instruction:
        case Branch(orelse=to) | BranchTag(orelse=to) | Jump(to=to):
            return to
        case _:
            return None


def writes(instruction: Instruction) -> Iterator[Register]:
    """Yield the registers that ``instruction`` sets."""
    match instruction:
        case Launch(targets=targets):
            yield from (t.register for t in targets)
        case Copy(target=target) | View(target=target):
            yield target.register
        case HostOp(target=result):
            yield result.register if isinstance(result, Target) else result
        case Branch() | BranchTag() | Jump() | Fail() | Share() | Kill() | Poison():
            pass
        case Return() | TailInvoke() | TailInvokeClosure():
            pass
        case _:
            yield instruction.target
