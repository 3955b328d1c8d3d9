"""Memory on paper: what `memory_check` knows of a running frame's memory.

A *block* is a piece of memory, a value of a data type, a closure, or something that came from a
call and is not looked into. It has holds, and is gone with the last one. Memory remembers what was
last written where: a tensor is a part of it and the *writing* that it came from, so a tensor that
was overwritten is told from one that was not, though both lie at the same place.

States are copied where paths part, so blocks are values: changing one puts another in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, Union, final

HOST_VALUE: Final = None
"""What a register holds that has no memory: a shape, a number on the host, nothing."""

EVER: Final = 1 << 60
"""Holds of what the program keeps: constants."""


@final
@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of a block, as written by one instruction."""

    offset: int
    length: int | None
    """``None`` if not known; then it is all of the block."""

    writing: str

    def meets(self, other: Part) -> bool:
        """Whether the two have bytes in common."""
        if self.length is None or other.length is None:
            return True
        ends = min(self.offset + self.length, other.offset + other.length)
        return max(self.offset, other.offset) < ends


@final
@dataclass(frozen=True, slots=True)
class Block:
    """Something that is held."""

    name: str
    """What it was made for: ``%s``."""

    holds: int = 1
    size: int | None = None
    device: int | None = None
    """In the executable's table; ``None`` if not known."""

    scope: str = ""
    ours: bool = True
    """Whether it was made in this frame or handed to it, and so has to go or be handed on."""

    donated: bool = False
    """Whether it is the caller's, who gave it away."""

    is_storage: bool = False
    handed: bool = False
    """Whether others have it, or had it: then nothing more may be written to it."""

    shared: bool = False
    parts: tuple[Part, ...] = ()
    """What was last written where."""

    inside: tuple[Value, ...] = ()
    """The values whose holds it has."""

    children: tuple[tuple[tuple[int, int], Value], ...] = ()
    """Of something not looked into: what was found inside, by constructor and place."""

    @property
    def alive(self) -> bool:
        return self.holds > 0


@final
@dataclass(frozen=True, slots=True)
class Ref:
    """A block, whole: a storage, a value of a data type, a closure, something unknown."""

    block: int


@final
@dataclass(frozen=True, slots=True)
class Tensor:
    """A part of a block."""

    block: int
    part: Part


Value: TypeAlias = Union[Ref, Tensor, "tuple[Value, ...]", None]


@final
@dataclass
class Memory:
    """All blocks of one state, and what was done wrong with them."""

    problems: dict[str, None]
    blocks: dict[int, Block] = field(default_factory=dict)

    def copy(self) -> Memory:
        """Return a state that goes its own way; problems are noted in one place."""
        return Memory(self.problems, dict(self.blocks))

    def wrong(self, text: str) -> None:
        self.problems[text] = None

    def add(self, block: Block) -> int:
        number = len(self.blocks)
        self.blocks[number] = block
        return number

    def new_tensor(self, block: Block, length: int | None = None) -> Tensor:
        """Return a tensor that is all of a new block."""
        part = Part(0, length, block.name)
        return Tensor(self.add(replace(block, parts=(part,))), part)

    def read(self, value: Value, reader: str) -> None:
        """Read the data of all tensors in ``value``."""
        for leaf in leaves(value):
            block = self.blocks[leaf.block]
            if not block.alive:
                self.wrong(f"{reader} reads {_name(leaf, block)} after its memory is given back")
            elif isinstance(leaf, Tensor) and leaf.part not in block.parts:
                over = next((p.writing for p in block.parts if p.meets(leaf.part)), "nothing")
                self.wrong(f"{reader} reads {leaf.part.writing}, which {over} has overwritten")

    def write(self, number: int, part: Part) -> Tensor:
        """Write to a part of a block, over whatever was there."""
        block = self.blocks[number]
        kept = tuple(p for p in block.parts if not p.meets(part))
        self.blocks[number] = replace(block, parts=(*kept, part))
        return Tensor(number, part)

    def share(self, value: Value) -> None:
        """Take one more hold."""
        for leaf in leaves(value):
            block = self.blocks[leaf.block]
            if not block.alive:
                self.wrong(f"{_name(leaf, block)} is shared after its memory is given back")
            self.blocks[leaf.block] = replace(block, holds=block.holds + 1, shared=True)

    def hand_over(self, value: Value, to: str) -> None:
        """Give holds away to somebody who may give them up at any time, and may keep the memory."""
        self.mark_handed(value)
        self.release(value, f"{to} is given {{}}, on which there is no hold to give")

    def mark_handed(self, value: Value) -> None:
        """Note that others have ``value`` and all that is in it."""
        stack = [*leaves(value)]
        while stack:
            leaf = stack.pop()
            block = self.blocks[leaf.block]
            if not block.handed:
                self.blocks[leaf.block] = replace(block, handed=True)
                stack += leaves((*block.inside, *(v for _, v in block.children)))

    def release(self, value: Value, complaint: str | None = None) -> None:
        """Give up a hold on each thing in ``value``, and with the last one what it holds.

        ``complaint`` is what is wrong where there is no hold any more; ``None``: nothing is.
        """
        stack = [*leaves(value)]
        while stack:
            leaf = stack.pop()
            block = self.blocks[leaf.block]
            if not block.alive:
                if complaint is not None:
                    self.wrong(complaint.format(_name(leaf, block)))
                continue
            if not (block.ours or block.donated) and block.holds == 1:
                self.wrong(f"{_name(leaf, block)} is given back, but it is the caller's")
                continue
            self.blocks[leaf.block] = replace(block, holds=block.holds - 1)
            if block.holds == 1:
                stack += leaves((*block.inside, *(v for _, v in block.children)))

    def find(self, ref: Ref, key: tuple[int, int]) -> Value:
        """Return what is inside something not looked into, always the same."""
        block = self.blocks[ref.block]
        for known, value in block.children:
            if known == key:
                return value
        name = f"{block.name}.{key[1]}"
        child = Ref(self.add(Block(name, int(block.alive), ours=block.ours, handed=block.handed)))
        self.blocks[ref.block] = replace(block, children=(*block.children, (key, child)))
        return child


def leaves(value: Value) -> Iterator[Ref | Tensor]:
    """Yield the blocks and parts of blocks in nested tuples, in order."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(reversed(top))
        elif top is not None:
            yield top


def _name(leaf: Ref | Tensor, block: Block) -> str:
    return leaf.part.writing if isinstance(leaf, Tensor) else block.name


__all__ = ["EVER", "HOST_VALUE", "Block", "Memory", "Part", "Ref", "Tensor", "Value", "leaves"]
