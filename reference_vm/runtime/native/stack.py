"""The frames of the native loop, from Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from reference_vm.jit.words import load, store
from reference_vm.runtime.calls import DEPTH
from reference_vm.runtime.native.heap import Words, address_of, aligned_words, write
from reference_vm.runtime.native.layout import WORD, Frame, FunctionRecord, State

_WORDS: Final = 1 << 14


@final
class Stack:
    """Memory for frames, which grows."""

    def __init__(self, state: int) -> None:
        self._state = state
        self._words: Words = aligned_words(_WORDS)
        store(state, State.DEPTH_LIMIT, DEPTH)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all frames."""
        store(self._state, State.STACK, address_of(self._words))
        store(self._state, State.STACK_END, address_of(self._words) + self._words.nbytes)

    def begin(self, record: int, instance: int, arguments: Sequence[int]) -> None:
        """Let a function's frame be the only one; the loop is to run it next."""
        store(self._state, State.FRAME, address_of(self._words))
        self._reserve(address_of(self._words), record)
        frame = address_of(self._words)
        store(self._state, State.DEPTH, 1)
        self._enter(frame, record, instance, arguments)
        write(frame + Frame.CALLER * WORD, [0, 0, 0])

    def push(
        self, record: int, instance: int, arguments: Sequence[int], back: int, target: int
    ) -> int:
        """Let a function run next, and the frame on top go on at ``back`` after it.

        Returns:
            The address of its frame.
        """
        frame = load(self._state, State.FRAME)
        size = self._size(frame)
        self._reserve(frame + size * WORD, record)
        inner = load(self._state, State.FRAME) + size * WORD
        self._enter(inner, record, instance, arguments)
        write(inner + Frame.CALLER * WORD, [size, back, target])
        store(self._state, State.DEPTH, load(self._state, State.DEPTH) + 1)
        return inner

    def replace(self, record: int, instance: int, arguments: Sequence[int]) -> None:
        """Let a function run next in place of the frame on top."""
        self._reserve(load(self._state, State.FRAME), record)
        self._enter(load(self._state, State.FRAME), record, instance, arguments)

    def pop(self, result: Sequence[int]) -> bool:
        """Give the caller a result; return whether there is one."""
        frame = load(self._state, State.FRAME)
        back = load(frame, Frame.CALLER)
        if not back:
            return False
        caller = frame - back * WORD
        write(caller + abs(load(frame, Frame.TARGET)) * WORD, result)
        store(self._state, State.FRAME, caller)
        store(self._state, State.PC, load(frame, Frame.RETURN))
        store(self._state, State.DEPTH, load(self._state, State.DEPTH) - 1)
        return True

    @property
    def used(self) -> Words:
        """The words of all frames."""
        frame = load(self._state, State.FRAME)
        end = frame + self._size(frame) * WORD
        return self._words[: (end - address_of(self._words)) // WORD]

    def grow(self) -> None:
        """Move all frames to twice the memory."""
        old, words = self._words, aligned_words(2 * self._words.size)
        words[: old.size] = old
        moved = load(self._state, State.FRAME) - address_of(old)
        self._words = words
        store(self._state, State.STACK, address_of(words))
        store(self._state, State.FRAME, address_of(words) + moved)
        store(self._state, State.STACK_END, address_of(words) + words.nbytes)

    def _reserve(self, frame: int, record: int) -> None:
        """Make sure that a frame at this address, or where that is moved to, has room."""
        nbytes = load(record, FunctionRecord.FRAME_WORDS) * WORD
        at = frame - address_of(self._words)
        while at + nbytes > self._words.nbytes:
            self.grow()

    def _size(self, frame: int) -> int:
        return load(load(frame, Frame.FUNCTION), FunctionRecord.FRAME_WORDS)

    def _enter(self, frame: int, record: int, instance: int, arguments: Sequence[int]) -> None:
        size = load(record, FunctionRecord.FRAME_WORDS)
        at = (frame - address_of(self._words)) // WORD
        self._words[at + Frame.SLOTS : at + size] = 0
        if arguments:
            write(frame + Frame.SLOTS * WORD, arguments)
        store(frame, Frame.FUNCTION, record)
        store(frame, Frame.INSTANCE, instance)
        store(self._state, State.FRAME, frame)
        store(self._state, State.PC, load(record, FunctionRecord.CODE))
