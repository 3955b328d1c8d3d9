"""A frame on paper: what each instruction does to registers and memory, for `memory_check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, final

from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import (
    AllocStorage,
    Copy,
    GetField,
    HostOp,
    Instruction,
    Invoke,
    InvokeClosure,
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
    TakeStorage,
    Target,
    View,
    handed_over,
)
from reference_vm.bytecode.paper_memory import (
    EVER,
    Block,
    Memory,
    Part,
    Ref,
    Tensor,
    Value,
    leaves,
)
from reference_vm.types import (
    HOST,
    AdtType,
    Dim,
    DType,
    FunctionType,
    Shape,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)
from reference_vm.types.dim import Unknown, evaluate

Overwriting: TypeAlias = Sequence["frozenset[tuple[int, int]] | None"]


@final
@dataclass
class Frame:
    """One state of one function."""

    executable: Executable
    function: FunctionCode
    sizes: Mapping[str, int]
    overwriting: Overwriting
    memory: Memory
    registers: dict[Register, Value] = field(default_factory=dict)
    tags: dict[int, int] = field(default_factory=dict)
    """Which constructor made a value of a data type, by its block, where that is known."""

    def copy(self) -> Frame:
        """Return the same state, to go on in another way."""
        return Frame(
            self.executable,
            self.function,
            self.sizes,
            self.overwriting,
            self.memory.copy(),
            dict(self.registers),
            dict(self.tags),
        )

    def run(self, instruction: Instruction, at: int) -> None:
        """Do what an instruction does that goes on to the next one, or leaves the frame."""
        match instruction:
            case Launch():
                self._launch(instruction, at)
            case Copy():
                self._copy(instruction, at)
            case AllocStorage(target=target, device=device, size=size, scope=scope):
                name = f"storage {target}"
                block = Block(name, 1, self._number(size), device, scope, is_storage=True)
                self.registers[target] = Ref(self.memory.add(block))
            case TakeStorage():
                self._take(instruction)
            case Poison(registers=registers):
                self._poison(registers, at)
            case HostOp(target=made):
                self._host_op(made, at)
            case ReadHost(target=target, source=source):
                self._read(source, at, 0)
                self.registers[target] = None
            case Kill(registers=registers):
                self._kill(registers)
            case Share(registers=registers):
                for register in registers:
                    self.memory.share(self.registers.get(register))
            case _:
                self._rename(instruction, at)

    def _take(self, instruction: TakeStorage) -> None:
        held = self.registers.get(instruction.source)
        block = self.memory.blocks[held.block] if isinstance(held, Tensor) else Block("nothing")
        if not isinstance(held, Tensor) or not block.donated or not block.alive or block.shared:
            self.memory.wrong(f"{block.name} is taken as a storage, but it is not given away")
            return
        size, scope = self._number(instruction.size), instruction.scope
        taken = replace(block, is_storage=True, handed=False, size=size, scope=scope)
        self.memory.blocks[held.block] = taken
        self.registers[instruction.target] = Ref(held.block)

    def _poison(self, registers: Sequence[Register], at: int) -> None:
        """Note that tensors are read no more; that others have them too is wrong."""
        for register in registers:
            for leaf in leaves(self.registers.get(register)):
                block = self.memory.blocks[leaf.block]
                kept = block.handed and not block.donated
                if not isinstance(leaf, Tensor) or kept or block.shared or not block.alive:
                    name = _written(block)
                    self.memory.wrong(f"{at}: {name} is said to be dead, but others have it")
                elif leaf.part in block.parts:
                    part = replace(leaf.part, writing="poison")
                    self.memory.write(leaf.block, part)

    def _rename(self, instruction: Instruction, at: int) -> None:
        """Do what gives values other names, or hands them over."""
        held = self.registers
        match instruction:
            case LoadConstant(target=target, constant=constant):
                slot = self.executable.constants[constant]
                block = Block(f"constant {constant}", EVER, device=slot.device, ours=False)
                held[target] = self.memory.new_tensor(block)
            case MakeShape(target=target):
                held[target] = None
            case View(target=Target(register=target), source=source):
                held[target] = held.get(source)
            case MatchCast(target=target, source=source) | Move(target=target, source=source):
                held[target] = held.get(source)
            case MakeTuple(target=target, items=items):
                held[target] = tuple(held.get(i) for i in items)
            case Project(target=target, source=source, index=index):
                held[target] = self._item(source, index, -1, at)
            case GetField(target=target, source=source, tag=tag, index=index):
                held[target] = self._item(source, index, tag, at)
            case _:
                self._hand_over(instruction, at)

    def _hand_over(self, instruction: Instruction, at: int) -> None:
        values = [self.registers.get(r) for r in handed_over(instruction)]
        here = f"{at}: {type(instruction).__name__}"
        for value in values:
            self.memory.read(value, here)
        match instruction:
            case Return(source=source):
                self._return(self.registers.get(source))
            case MakeData(target=target) | MakeClosure(target=target):
                self._make(target, values, at)
                if isinstance(instruction, MakeData):
                    self.tags[_block_of(self.registers[target])] = instruction.tag
            case Invoke(target=target, function=function):
                self._give(values, here)
                result = self.executable.functions[function].result
                self.registers[target] = self.given(result, f"the result at {at}", True)
            case InvokeClosure(target=target):
                self._give(values, here)
                self.registers[target] = Ref(self.memory.add(Block(f"the result at {at}")))
            case TailInvoke() | TailInvokeClosure():
                self._give(values, here)
                self._leave(set())
            case _:
                pass

    def _give(self, values: Sequence[Value], here: str) -> None:
        for value in values:
            self.memory.hand_over(value, here)

    def _make(self, target: Register, values: Sequence[Value], at: int) -> None:
        for value in values:
            self.memory.mark_handed(value)
        block = Block(f"the value made at {at}", inside=tuple(values))
        self.registers[target] = Ref(self.memory.add(block))

    def _return(self, value: Value) -> None:
        self.memory.read(value, "the result")
        kept: set[int] = set()
        if self.function.lent:
            kept = {leaf.block for leaf in leaves(value)}
        else:
            self.memory.release(value, "{} is returned without a hold on it")
        self._leave(kept)

    def _leave(self, kept: set[int]) -> None:
        """Note what is never given back: all that the frame has now, but for ``kept``."""
        stack = list(kept)
        while stack:
            block = self.memory.blocks[stack.pop()]
            more = {leaf.block for leaf in leaves((*block.inside, *(v for _, v in block.children)))}
            stack += more - kept
            kept = kept | more
        for number, block in self.memory.blocks.items():
            if block.ours and block.alive and number not in kept:
                self.memory.wrong(f"the memory of {_written(block)} is never given back")

    def look(self, source: Register, at: int) -> None:
        """Read what made a value of a data type."""
        self.memory.read(self.registers.get(source), str(at))

    def tag_of(self, source: Register) -> int | None:
        """Return which constructor made a value, if that is known."""
        return self.tags.get(_block_of(self.registers.get(source)))

    def _item(self, source: Register, index: int, tag: int, at: int) -> Value:
        value = self.registers.get(source)
        if isinstance(value, tuple):
            return value[index]
        if not isinstance(value, Ref):
            return None
        self.memory.read(value, str(at))
        inside = self.memory.blocks[value.block].inside
        return inside[index] if inside else self.memory.find(value, (tag, index))

    def _kill(self, registers: Sequence[Register]) -> None:
        for register in registers:
            value = self.registers.pop(register, None)
            for leaf in leaves(value):
                block = self.memory.blocks[leaf.block]
                twice = isinstance(leaf, Ref) or block.shared
                self.memory.release(leaf, "{} is given back twice" if twice else None)

    def _host_op(self, made: Target | Register, at: int) -> None:
        if isinstance(made, Target):
            block = Block(_named(made, at), device=0)
            self.registers[made.register] = self.memory.new_tensor(block, self._length(made))
        else:
            self.registers[made] = None

    def _read(self, register: Register, at: int, device: int) -> None:
        """Read a tensor by work on a device."""
        value = self.registers.get(register)
        self.memory.read(value, str(at))
        for leaf in leaves(value):
            found = self.memory.blocks[leaf.block].device
            if found is not None and found != device:
                there, here = self.executable.devices[found], self.executable.devices[device]
                name = _written(self.memory.blocks[leaf.block])
                self.memory.wrong(f"{at}: {name} is on {there}, but read on {here}")

    def _launch(self, launch: Launch, at: int) -> None:
        for register in launch.args:
            self._read(register, at, launch.device)
        allowed = None
        if launch.kernel < len(self.overwriting):
            allowed = self.overwriting[launch.kernel]
        self._check_overwritten(launch, allowed, at)
        made = [self._write(t, launch.device, at) for t in launch.targets]
        for i, one in enumerate(made):
            if any(one.block == o.block and one.part.meets(o.part) for o in made[:i]):
                self.memory.wrong(f"{at}: results of one instruction overlap")
        for target, tensor in zip(launch.targets, made, strict=True):
            self.registers[target.register] = tensor

    def _check_overwritten(
        self, launch: Launch, allowed: frozenset[tuple[int, int]] | None, at: int
    ) -> None:
        """Note results that are written over operands in a way that the kernel does not bear."""
        for result, target in enumerate(launch.targets):
            place = self._place(target)
            if place is None:
                continue
            number, part = place
            for i, register in enumerate(launch.args):
                for leaf in leaves(self.registers.get(register)):
                    if leaf.block != number or not isinstance(leaf, Tensor):
                        continue
                    same = (leaf.part.offset, leaf.part.length) == (part.offset, part.length)
                    bears = same if allowed is None else same and (i, result) in allowed
                    if leaf.part.meets(part) and not bears:
                        name = _named(target, at)
                        self.memory.wrong(f"{name} is written over what it is computed from")

    def _copy(self, copy: Copy, at: int) -> None:
        value = self.registers.get(copy.source)
        self.memory.read(value, str(at))
        place = self._place(copy.target)
        for leaf in leaves(value):
            if place and leaf.block == place[0] and _part_of(leaf).meets(place[1]):
                self.memory.wrong(f"{_named(copy.target, at)} is copied over itself")
        self.registers[copy.target.register] = self._write(copy.target, copy.device, at)

    def _place(self, target: Target) -> tuple[int, Part] | None:
        """Return the block and the part that a result is to be written to, if it has a storage."""
        held = None if target.storage is None else self.registers.get(target.storage)
        if not isinstance(held, Ref):
            return None
        return held.block, Part(target.offset, self._length(target), "")

    def _write(self, target: Target, device: int, at: int) -> Tensor:
        name, length = _named(target, at), self._length(target)
        if target.storage is None:
            return self.memory.new_tensor(Block(name, device=device, scope=target.scope), length)
        held = self.registers.get(target.storage)
        if not isinstance(held, Ref) or not self.memory.blocks[held.block].is_storage:
            self.memory.wrong(f"{name} is written to what is no storage")
            return self.memory.new_tensor(Block(name, device=device), length)
        block = self.memory.blocks[held.block]
        self._check_storage(block, target, name, device, length)
        return self.memory.write(held.block, Part(target.offset, length, name))

    def _check_storage(
        self, block: Block, target: Target, name: str, device: int, length: int | None
    ) -> None:
        wrong = self.memory.wrong
        if not block.alive:
            wrong(f"{name} is written to {block.name} after its memory is given back")
        if block.handed or block.shared:
            wrong(f"{name} is written to {block.name}, which others have too")
        if block.device != device:
            wrong(f"{name} lies on another device than {block.name}")
        if block.scope != target.scope:
            wrong(f"{name} lies in another scope than {block.name}")
        if length is None:
            wrong(f"{name} is written to {block.name}, but its size is not known before")
        elif block.size is not None and length and target.offset + length > block.size:
            needed = f"{length} bytes at {target.offset}"
            wrong(f"{name} needs {needed}, {block.name} has {block.size}")

    def _number(self, dim: Dim) -> int | None:
        if isinstance(dim, Unknown):
            return None
        try:
            return evaluate(dim, self.sizes)
        except ZeroDivisionError:
            return None

    def _length(self, target: Target) -> int | None:
        """Return the bytes of a result; ``None`` if only the run tells them."""
        return self._bytes(target.dtype, target.shape)

    def _bytes(self, dtype: DType, shape: Shape | None) -> int | None:
        if shape is None:
            return None
        total = dtype.itemsize
        for dim in shape:
            number = self._number(dim)
            if number is None:
                return None
            total *= max(number, 0)
        return total

    def given(self, type_: Type, name: str, ours: bool, donated: bool = False) -> Value:
        """Return a value that came from outside the frame, with a hold on each thing in it."""
        if isinstance(type_, TupleType):
            items = enumerate(type_.items)
            return tuple(self.given(t, f"{name}.{i}", ours, donated) for i, t in items)
        if isinstance(type_, ShapeType):
            return None
        device = self._device(type_) if isinstance(type_, TensorType) else None
        block = Block(name, device=device, ours=ours, donated=donated, handed=True)
        if isinstance(type_, TensorType):
            length = self._bytes(type_.dtype, type_.shape) if donated else None
            return self.memory.new_tensor(block, length)
        assert isinstance(type_, AdtType | FunctionType), type_
        return Ref(self.memory.add(block))

    def _device(self, type_: TensorType) -> int | None:
        name = type_.vdevice.device if type_.vdevice is not None else HOST
        devices = self.executable.devices
        return devices.index(name) if name in devices else None


def entered(
    executable: Executable,
    function: FunctionCode,
    sizes: Mapping[str, int],
    overwriting: Overwriting,
    problems: dict[str, None],
) -> Frame:
    """Return the frame of a function that is about to run."""
    frame = Frame(executable, function, sizes, overwriting, Memory(problems))
    for register, param in enumerate(function.params):
        name, ours = f"%{param.name}", not function.lent
        donated = param.donated and function.lent
        frame.registers[register] = frame.given(param.type, name, ours, donated)
    return frame


def _named(target: Target, at: int) -> str:
    return f"{target.value or target.register} (at {at})"


def _written(block: Block) -> str:
    """Return what a message calls a block: by what was last written to it."""
    return ", ".join(p.writing for p in block.parts) or block.name


def _part_of(leaf: Ref | Tensor) -> Part:
    return leaf.part if isinstance(leaf, Tensor) else Part(0, None, "")


def _block_of(value: Value) -> int:
    return value.block if isinstance(value, Ref) else -1


__all__ = ["Frame", "Overwriting", "entered"]
