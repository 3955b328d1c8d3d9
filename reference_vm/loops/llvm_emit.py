"""Writes one instruction of a nest; how an access is read is up to the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_vm.loops.llvm_code import CodeWriter, number
from reference_vm.loops.nest import Nest


def emit(
    out: CodeWriter,
    nest: Nest,
    index: int,
    names: Mapping[int, str],
    load: Callable[[int], str],
) -> str:
    """Add instruction ``index`` of ``nest``; return the name of its result.

    ``names`` are those of the instructions before it, and ``load`` reads an access by number. The
    places of a row are counted in ``%n``.
    """
    instruction = nest.code[index]
    match instruction.op:
        case "literal":
            return number(instruction.detail, instruction.dtype)
        case "count":
            return "%n"
        case "load":
            assert isinstance(instruction.detail, int)
            return load(instruction.detail)
        case _:
            args = [names[a] for a in instruction.args]
            return out.compute(instruction, args, nest.code[instruction.args[0]].dtype)
