"""The integers of a program as text, for people.

    fn @main, 14 words a frame, 5 an instance
         0  STORAGE s8 c2
         3  LAUNCH_1 c4 s5 s11 s8 0 aside
        10  RETURN 1 s11

In front stands where an instruction begins, in words. *s* is a slot, in words from the frame, and
*c* a cell, in words from the instance; ``aside`` is a record elsewhere, ``to`` another instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.runtime.native.opcodes import Launch as LaunchWords
from reference_vm.runtime.native.opcodes import Op, Result
from reference_vm.runtime.native.translation import Aside, Code, Jumping, Word, offsets

_KINDS: Final[dict[Op, str]] = {
    Op.LEAVE: "n",
    Op.CONSTANT: "saaa",
    Op.STORAGE: "sc",
    Op.MOVE: "n*",
    Op.KILL: "n*",
    Op.SHARE: "n*",
    Op.POISON: "n*",
    Op.JUMP: "t",
    Op.BRANCH: "st",
    Op.VIEW: "ssc",
    Op.SHAPE: "sc",
    Op.MATCH: "ssca",
    Op.READ: "ss",
    Op.FACT: "san*",
    Op.ELEMENTS: "ssc",
    Op.RESHAPE: "san*",
    Op.CALL: "asn*",
    Op.TAIL_CALL: "an*",
    Op.MAKE: "san*",
    Op.FIELD: "ssnnn",
    Op.TAG: "snt",
    Op.APPLY: "ssnnn*",
    Op.TAIL_APPLY: "snnn*",
    Op.RETURN: "n*",
    Op.LAUNCH_1: "csssna",
    Op.LAUNCH_2: "cssssna",
    Op.LAUNCH_3: "csssssna",
}
"""What the words after the first are: *s*, *c*, an address (*a*), a jump (*t*), a number (*n*), or
slots to the end (``*``)."""


def disassemble(functions: Sequence[FunctionCode], codes: Sequence[Code]) -> str:
    """Return the program as text, one instruction a line."""
    lines = (
        line
        for function, code in zip(functions, codes, strict=True)
        for line in _lines(function, code)
    )
    return "\n".join(lines) + "\n"


def _lines(function: FunctionCode, code: Code) -> Iterator[str]:
    sizes = f"{code.frame_words} words a frame, {code.instance_words} an instance"
    yield f"fn @{function.name}, {sizes}"
    starts = [offset // 8 for offset in offsets(code)]
    for start, words in zip(starts, code.instructions, strict=True):
        yield f"  {start:4}  {' '.join(_shown(words, starts))}"


def _shown(words: Sequence[Word], starts: Sequence[int]) -> Iterator[str]:
    op = Op(words[0])  # type: ignore[arg-type]  # the first word is a number
    yield op.name
    kinds = _launch_kinds(words) if op in (Op.LAUNCH, Op.LAUNCH_ONE) else _KINDS[op]
    kinds = kinds.replace("*", "s" * len(words))
    for kind, word in zip(kinds, words[1:], strict=False):
        match word:
            case Aside():
                yield "aside"
            case Jumping(to=to):
                yield f"to {starts[to]}"
            case _:
                yield _number(kind, word)


def _number(kind: str, word: int) -> str:
    if kind == "a":
        return "address" if word else "0"
    return f"{kind}{word}" if kind in "sc" else str(word)


def _launch_kinds(words: Sequence[Word]) -> str:
    operands, results = words[LaunchWords.OPERANDS], words[LaunchWords.RESULTS]
    assert isinstance(operands, int)
    assert isinstance(results, int)
    assert len("ssnc") == Result.WORDS
    return "cannnn" + "s" * operands + "ssnc" * results


__all__ = ["disassemble"]
