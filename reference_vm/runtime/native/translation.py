"""From the bytecode to the integers of the native loop, one instruction for each.

A register becomes slots: one for a tensor, a shape value or whatever Python must look into, and for
a tuple those of its items. What depends on symbols becomes *cells*: places in each instance of the
function, filled when the instance is made, or when a launch or call has been done once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, Union, final

from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import (
    AllocStorage,
    Branch,
    BranchTag,
    GetField,
    HostOp,
    Instruction,
    Invoke,
    InvokeClosure,
    Jump,
    Kill,
    Launch,
    LoadConstant,
    MakeClosure,
    MakeData,
    MakeShape,
    MakeTuple,
    MatchCast,
    Move,
    Poison,
    Project,
    ReadHost,
    Register,
    Return,
    Share,
    TailInvoke,
    TailInvokeClosure,
    Target,
    View,
    writes,
)
from reference_vm.runtime.native.layout import SLOT, WORD, Frame, Instance
from reference_vm.runtime.native.makers import Constructor, Makers
from reference_vm.runtime.native.opcodes import SURE, Op, Result
from reference_vm.runtime.native.opcodes import Launch as LaunchWords
from reference_vm.runtime.native.told import Told, told_form, told_size
from reference_vm.runtime.native.trees import LEAF, Tree, count, register_trees, tree_of
from reference_vm.types import HOST, Dim, DType, Shape, TensorType, Type, Unknown


@final
@dataclass(frozen=True, slots=True)
class Jumping:
    """A word that becomes the address of an instruction, by its index."""

    to: int


@final
@dataclass(frozen=True, slots=True)
class Aside:
    """A word that becomes the address of a record of words."""

    words: tuple[int, ...]


Word: TypeAlias = Union[int, Jumping, Aside]

SizedType: TypeAlias = tuple[DType, Shape]


@final
@dataclass(frozen=True)
class Code:
    """A function, translated."""

    instructions: tuple[tuple[Word, ...], ...]
    trees: tuple[Tree, ...]
    """Of each register."""

    slots: tuple[int, ...]
    """The first slot of each register, in words from the frame."""

    frame_words: int
    cells: tuple[Told, ...]
    """What is told when an instance is made."""

    instance_words: int


@final
@dataclass(frozen=True)
class Surroundings:
    """What a function's translation needs to know of the program around it."""

    executable: Executable
    records: Sequence[int]
    """The address of each function's record."""

    kernels: Sequence[int]
    """The address of each kernel's record; 0 for one that has no native form."""

    constants: Sequence[tuple[int, int, int]]
    """The words of each constant's slot; zeros for one that is not on the host."""

    makers: Makers
    host: int
    """The host's index among the devices."""

    checked: bool
    """Whether launches look at their memory first."""

    is_listed: Callable[[Launch], bool]
    """Whether any plan that fits the operands of a launch may be run, since nothing else of the
    launch must be checked."""

    reads: Callable[[Launch], bool]
    """Whether a plan for a launch may depend on the elements of its operands."""

    is_elements: Callable[[HostOp], bool]
    """Whether an operator makes a tensor of what a shape value holds."""


def translate(around: Surroundings, code: FunctionCode) -> Code:
    """Return a function in integers."""
    trees = register_trees(around.executable, code)
    return _Translator(around, code, trees).translate()


def _sure(around: Surroundings, code: FunctionCode) -> Mapping[Register, SizedType]:
    """Return the registers that hold tensors on the host of forms that the symbols decide.

    A caller outside has been checked; one inside may hand over what it knows less of.
    """
    times: Counter[Register] = Counter(w for i in code.instructions for w in writes(i))
    found: dict[Register, SizedType | None] = {}
    if code.lent:
        found.update((i, _sized(p.type)) for i, p in enumerate(code.params))
    for instruction in code.instructions:
        match instruction:
            case Launch(device=device, targets=targets) if device == around.host:
                found.update((t.register, _promised(t)) for t in targets)
            case View(target=target) | HostOp(target=Target() as target):
                found[target.register] = _promised(target)
            case MatchCast(target=register, type=type_):
                found[register] = _sized(type_)
            case _:
                pass
    params = range(len(code.params))
    once = ((r, t) for r, t in found.items() if times[r] == (0 if r in params else 1))
    return {r: t for r, t in once if t is not None}


def _promised(target: Target) -> SizedType | None:
    """Return dtype and shape of a result, if the symbols decide its dims."""
    return (target.dtype, target.shape) if target.is_sized and target.shape is not None else None


def _sized(type_: Type) -> SizedType | None:
    """Return dtype and shape of a tensor on the host, all of whose dims the symbols decide."""
    if not isinstance(type_, TensorType) or type_.shape is None:
        return None
    device = None if type_.vdevice is None else type_.vdevice.device
    if device not in (None, HOST) or any(isinstance(d, Unknown) for d in type_.shape):
        return None
    return type_.dtype, type_.shape


@final
@dataclass
class _Translator:
    around: Surroundings
    code: FunctionCode
    trees: list[Tree]
    known: dict[object, int] = field(default_factory=dict)
    """The cell of each size and form."""

    told: list[Told] = field(default_factory=list)
    cells: int = 0

    def __post_init__(self) -> None:
        self.slots: list[int] = []
        at = int(Frame.SLOTS)
        for tree in self.trees:
            self.slots.append(at)
            at += SLOT * count(tree)
        self.frame_words = at
        self.symbols = {s: i for i, s in enumerate(self.code.symbols)}
        self.cells = Instance.SYMBOLS + len(self.symbols)

        self.sure = _sure(self.around, self.code)
        """The registers that hold tensors whose forms the instance decides."""

    def translate(self) -> Code:
        instructions = tuple(tuple(self._words(i)) for i in self.code.instructions)
        return Code(
            instructions,
            tuple(self.trees),
            tuple(self.slots),
            self.frame_words,
            tuple(self.told),
            self.cells,
        )

    def _words(self, instruction: Instruction) -> Sequence[Word]:
        return self._translated(instruction) or (Op.LEAVE, 2)

    def _translated(self, instruction: Instruction) -> Sequence[Word] | None:
        """Return an instruction in integers; ``None`` if it is Python's."""
        match instruction:
            case Launch():
                return self._launch(instruction)
            case AllocStorage(target=target, device=device, size=size):
                if device != self.around.host:
                    return None
                return (Op.STORAGE, self.slots[target], self._size(size))
            case View():
                return self._view(instruction)
            case MakeShape(target=target, dims=dims):
                return (Op.SHAPE, self.slots[target], self._form(None, dims))
            case MatchCast(target=target, source=source):
                if not (self._is_leaf(target) and self._is_leaf(source)):
                    return None
                return (Op.MATCH, self.slots[target], self.slots[source], self._cells(2), 0)
            case HostOp(target=Target() as target, args=(source,)) if self._is_plain(instruction):
                sized = target.shape if target.is_sized else None
                form = 0 if sized is None else self._form(target.dtype, sized)
                return (Op.ELEMENTS, self.slots[target.register], self.slots[source], form)
            case HostOp(target=target, args=args):
                return self._fact(Op.FACT, target, args)
            case ReadHost(target=target, source=source):
                return (Op.READ, self.slots[target], self.slots[source])
            case _:
                return self._control(instruction)

    def _control(self, instruction: Instruction) -> Sequence[Word] | None:
        match instruction:
            case Jump(to=to):
                return (Op.JUMP, Jumping(to))
            case Branch(condition=condition, orelse=orelse):
                return (Op.BRANCH, self.slots[condition], Jumping(orelse))
            case Invoke(target=target, function=function, args=args):
                return self._call(function, args, target)
            case TailInvoke(function=function, args=args):
                return self._call(function, args, None)
            case InvokeClosure(target=target, closure=closure, args=args):
                slots = self.slots[closure], self.slots[target]
                return (Op.APPLY, *slots, *self._application(args, self.trees[target]))
            case TailInvokeClosure(closure=closure, args=args):
                words = self._application(args, tree_of(self.code.result))
                return (Op.TAIL_APPLY, self.slots[closure], *words)
            case Return(source=source):
                if self.trees[source] != tree_of(self.code.result):
                    return None
                return self._list(Op.RETURN, (source,))
            case Kill(registers=registers):
                return self._list(Op.KILL, registers)
            case Poison(registers=registers):
                return self._list(Op.POISON, registers if self.around.checked else ())
            case Share(registers=registers):
                return self._list(Op.SHARE, registers)
            case _:
                return self._moving(instruction)

    def _moving(self, instruction: Instruction) -> Sequence[Word] | None:
        match instruction:
            case LoadConstant(target=target, constant=constant):
                words = self.around.constants[constant]
                return (Op.CONSTANT, self.slots[target], *words) if words[1] else None
            case MakeTuple(target=target, items=items):
                if self.trees[target] != tuple(self.trees[i] for i in items):
                    return None
                return self._move(target, [s for i in items for s in self._leaves(i)])
            case Project(target=target, source=source, index=index):
                return self._project(target, source, index)
            case Move(target=target, source=source):
                if self.trees[target] != self.trees[source]:
                    return None
                return self._move(target, self._leaves(source))
            case _:
                return self._data(instruction)

    def _data(self, instruction: Instruction) -> Sequence[Word] | None:
        makers = self.around.makers
        match instruction:
            case MakeData(target=target, data_type=data_type, tag=tag, fields=fields):
                trees = tuple(self.trees[f] for f in fields)
                maker = makers.address(Constructor(data_type, tag, trees))
                return self._make(target, maker, fields)
            case MakeClosure(target=target, function=function, captured=captured):
                made = makers.closure(function, len(captured))
                if made.trees != tuple(self.trees[c] for c in captured):
                    return None
                return self._make(target, makers.address(made), captured)
            case BranchTag(source=source, tag=tag, orelse=orelse):
                return (Op.TAG, self.slots[source], tag, Jumping(orelse))
            case GetField(target=target, source=source, index=index):
                tree = self.trees[target]
                slots = self.slots[target], self.slots[source]
                return (Op.FIELD, *slots, index, makers.tree(tree), count(tree))
            case _:
                return None

    def _make(self, target: Register, maker: int, parts: Sequence[Register]) -> Sequence[Word]:
        slots = [s for p in parts for s in self._leaves(p)]
        return (Op.MAKE, self.slots[target], maker, len(slots), *slots)

    def _application(self, args: Sequence[Register], result: Tree) -> Sequence[Word]:
        """Return the last words of a call of a closure."""
        slots = [s for a in args for s in self._leaves(a)]
        arguments = self.around.makers.tree(tuple(self.trees[a] for a in args))
        return (arguments, self.around.makers.tree(result), len(slots), *slots)

    def _is_leaf(self, register: Register) -> bool:
        return self.trees[register] is LEAF

    def _leaves(self, register: Register) -> list[int]:
        """Return the slots of a register."""
        first = self.slots[register]
        return [first + SLOT * i for i in range(count(self.trees[register]))]

    def _list(self, op: Op, registers: Sequence[Register]) -> Sequence[Word]:
        slots = [s for r in registers for s in self._leaves(r)]
        return (op, len(slots), *slots)

    def _move(self, target: Register, sources: Sequence[int]) -> Sequence[Word]:
        pairs = [w for pair in zip(self._leaves(target), sources, strict=True) for w in pair]
        return (Op.MOVE, len(sources), *pairs)

    def _project(self, target: Register, source: Register, index: int) -> Sequence[Word] | None:
        tree = self.trees[source]
        if tree is None or tree[index] != self.trees[target]:
            return None
        first = self.slots[source] + SLOT * sum(map(count, tree[:index]))
        number = count(tree[index])
        return self._move(target, [first + SLOT * i for i in range(number)])

    def _launch(self, launch: Launch) -> Sequence[Word] | None:
        kernel = self.around.kernels[launch.kernel]
        if launch.device != self.around.host or not kernel:
            return None
        if not all(map(self._is_leaf, launch.args)):
            return None
        slots = [self.slots[a] for a in launch.args]
        results = [w for t in launch.targets for w in self._result(t)]
        one = len(launch.targets) == 1 and launch.targets[0].storage is not None
        op = Op.LAUNCH_ONE if one and not self.around.checked else Op.LAUNCH
        sure = {n: op for op, n in SURE.items()}.get(len(slots))
        simple = (
            op is Op.LAUNCH_ONE and sure is not None and all(a in self.sure for a in launch.args)
        )
        cell = self._plan_cell(launch) if simple else self._cells(1)
        length = LaunchWords.SLOTS + len(slots) + len(results)
        head = (cell, kernel, len(slots), len(launch.targets), length)
        words = (*head, int(self.around.is_listed(launch)), *slots, *results)
        if sure is None or not simple:
            return (op, *words)
        return (sure, cell, *slots, *results[: Result.FORM], Aside((Op.LAUNCH, *words)))

    def _result(self, target: Target) -> Sequence[int]:
        storage = 0 if target.storage is None else self.slots[target.storage]
        sized = target.shape if target.is_sized else None
        form = 0 if sized is None else self._form(target.dtype, sized)
        return (self.slots[target.register], storage, target.offset, form)

    def _view(self, view: View) -> Sequence[Word] | None:
        target = view.target
        if view.kernel is not None:
            return self._fact(Op.RESHAPE, target, (view.source, *view.args))
        assert target.shape is not None
        form = self._form(target.dtype, target.shape)
        return (Op.VIEW, self.slots[target.register], self.slots[view.source], form)

    def _is_plain(self, op: HostOp) -> bool:
        """Whether an operator makes a tensor of what one shape value holds."""
        return self.around.is_elements(op) and all(map(self._is_leaf, op.args))

    def _fact(
        self, op: Op, target: Target | Register, args: Sequence[Register]
    ) -> Sequence[Word] | None:
        if not all(map(self._is_leaf, args)):
            return None
        register = target.register if isinstance(target, Target) else target
        slots = [self.slots[a] for a in args]
        return (op, self.slots[register], 0, len(slots), *slots)

    def _call(
        self, function: int, args: Sequence[Register], target: Register | None
    ) -> Sequence[Word] | None:
        """Return a call for a register, or one in place of this function."""
        callee = self.around.executable.functions[function]
        result = tree_of(self.code.result) if target is None else self.trees[target]
        trees = [tree_of(p.type) for p in callee.params]
        if trees != [self.trees[a] for a in args] or tree_of(callee.result) != result:
            return None
        slots = [s for a in args for s in self._leaves(a)]
        head = self.around.records[function], *(() if target is None else (self.slots[target],))
        return (Op.TAIL_CALL if target is None else Op.CALL, *head, len(slots), *slots)

    # Cells.

    def _cells(self, number: int) -> int:
        """Return the first of so many cells that are filled while the program runs."""
        found = self.cells
        self.cells += number
        return found

    def _told(self, key: object, told: Callable[[int], Told]) -> int:
        if key not in self.known:
            self.known[key] = self._cells(1)
            self.told.append(told(self.known[key]))
        return self.known[key]

    def _plan_cell(self, launch: Launch) -> int:
        """Return the cell for the plan of a launch on operands whose forms the instance decides.

        Launches of one kernel on operands alike have the same plan, so it is looked up once for all
        of them.
        """
        if self.around.reads(launch):
            return self._cells(1)
        operands = tuple(self.sure[a] for a in launch.args)
        key = (launch.kernel, operands, tuple(map(_promised, launch.targets)))
        if key not in self.known:
            self.known[key] = self._cells(1)
        return self.known[key]

    def _size(self, size: Dim) -> int:
        return self._told(size, lambda cell: told_size(cell, size, self.symbols))

    def _form(self, dtype: DType | None, shape: Shape) -> int:
        """Return the cell of the form of a tensor, or without a dtype of a shape value."""
        return self._told((dtype, shape), lambda cell: told_form(cell, dtype, shape, self.symbols))


def linked(
    code: Code, starts: Callable[[int], int], aside: Callable[[Sequence[int]], int]
) -> list[int]:
    """Return the words of all instructions.

    Args:
        code: The function.
        starts: Tells the address of an instruction.
        aside: Puts a record to memory, and tells its address.
    """

    def word(of: Word) -> int:
        if isinstance(of, Aside):
            return aside(of.words)
        return starts(of.to) if isinstance(of, Jumping) else int(of)

    return [word(of) for words in code.instructions for of in words]


def offsets(code: Code) -> list[int]:
    """Return where each instruction begins, in bytes."""
    found, at = [], 0
    for words in code.instructions:
        found.append(at)
        at += WORD * len(words)
    return found
