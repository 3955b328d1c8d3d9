"""The steps of calls, closures and data types."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, Union

from reference_vm.bytecode.instructions import (
    BranchTag,
    Fail,
    GetField,
    Invoke,
    InvokeClosure,
    MakeClosure,
    MakeData,
    Return,
    Share,
    TailInvoke,
    TailInvokeClosure,
)
from reference_vm.diagnostics import DataError
from reference_vm.runtime.frames import SWITCH, Frame, PreparedFunction, Step, enter
from reference_vm.runtime.holds import Closure, Data, share, taken_apart
from reference_vm.runtime.image import Image
from reference_vm.runtime.symbols import bind_symbols

DEPTH: Final = 200_000
"""How many calls may wait for one another."""

CallInstruction: TypeAlias = Union[
    Invoke,
    TailInvoke,
    InvokeClosure,
    TailInvokeClosure,
    MakeClosure,
    MakeData,
    BranchTag,
    GetField,
    Fail,
    Share,
    Return,
]


def call_step(image: Image, instruction: CallInstruction) -> Step:
    """Return the step of an instruction of this module."""
    match instruction:
        case Invoke(target=target, function=function, args=args):
            return _invoke(image, function, args, target)
        case TailInvoke(function=function, args=args):
            return _tail_invoke(image, function, args)
        case InvokeClosure(target=target, closure=closure, args=args):
            return _invoke_closure(image, closure, args, target)
        case TailInvokeClosure(closure=closure, args=args):
            return _tail_invoke_closure(image, closure, args)
        case Share(registers=registers):
            return _share(registers)
        case Return(source=source):
            return _return(source)
        case _:
            return _value_step(instruction)


def _value_step(instruction: MakeClosure | MakeData | BranchTag | GetField | Fail) -> Step:
    match instruction:
        case MakeClosure(target=target, function=function, captured=captured):
            return _make_closure(target, function, captured)
        case MakeData(target=target, data_type=data_type, tag=tag, fields=fields):
            return _make_data(target, data_type, tag, fields)
        case BranchTag(source=source, tag=tag, orelse=orelse):
            return lambda frame: None if frame.registers[source].tag == tag else orelse
        case GetField(target=target, source=source, index=index):
            return _get_field(target, source, index)
        case Fail(code=code, message=message):
            return _fail(code, message)


def _entered(image: Image, function: PreparedFunction, values: list[Any], frame: Frame) -> Frame:
    """Return a frame of a function that ``frame`` calls."""
    symbols = bind_symbols(function.code, values, image.executable.data_types)
    return enter(function, values, symbols, frame.run)


def _push(
    image: Image, function: PreparedFunction, values: list[Any], frame: Frame, target: int
) -> int:
    """Let a function with these arguments run next, for register ``target`` of ``frame``."""
    stack = frame.run.stack
    if len(stack) >= DEPTH:
        message = f"more than {DEPTH:,} calls wait for one another"
        raise DataError("recursion-too-deep", message, "let the recursive call be the last thing")
    callee = _entered(image, function, values, frame)
    callee.target = target
    frame.pc += 1
    stack.append(callee)
    return SWITCH


def _replace(image: Image, function: PreparedFunction, values: list[Any], frame: Frame) -> int:
    """Let a function with these arguments run in place of ``frame``."""
    callee = _entered(image, function, values, frame)
    callee.target = frame.target
    frame.run.stack[-1] = callee
    return SWITCH


def _invoke(image: Image, index: int, args: tuple[int, ...], target: int) -> Step:
    def step(frame: Frame) -> int:
        registers = frame.registers
        return _push(image, image.functions[index], [registers[a] for a in args], frame, target)

    return step


def _tail_invoke(image: Image, index: int, args: tuple[int, ...]) -> Step:
    def step(frame: Frame) -> int:
        registers = frame.registers
        return _replace(image, image.functions[index], [registers[a] for a in args], frame)

    return step


def _applied(frame: Frame, closure: Closure, args: tuple[int, ...]) -> list[Any]:
    """Return all arguments of the function that ``closure`` is."""
    registers = frame.registers
    return [*taken_apart(frame.run, closure), *[registers[a] for a in args]]


def _invoke_closure(image: Image, register: int, args: tuple[int, ...], target: int) -> Step:
    def step(frame: Frame) -> int:
        closure: Closure = frame.registers[register]
        values = _applied(frame, closure, args)
        return _push(image, image.functions[closure.function], values, frame, target)

    return step


def _tail_invoke_closure(image: Image, register: int, args: tuple[int, ...]) -> Step:
    def step(frame: Frame) -> int:
        closure: Closure = frame.registers[register]
        values = _applied(frame, closure, args)
        return _replace(image, image.functions[closure.function], values, frame)

    return step


def _make_closure(target: int, function: int, captured: tuple[int, ...]) -> Step:
    def step(frame: Frame) -> None:
        registers = frame.registers
        registers[target] = Closure(function, tuple([registers[c] for c in captured]))

    return step


def _make_data(target: int, data_type: int, tag: int, fields: tuple[int, ...]) -> Step:
    def step(frame: Frame) -> None:
        registers = frame.registers
        registers[target] = Data(data_type, tag, tuple([registers[f] for f in fields]))

    return step


def _get_field(target: int, source: int, index: int) -> Step:
    def step(frame: Frame) -> None:
        frame.registers[target] = frame.registers[source].fields[index]

    return step


def _share(registers: tuple[int, ...]) -> Step:
    def step(frame: Frame) -> None:
        held, run = frame.registers, frame.run
        for register in registers:
            share(run, held[register])

    return step


def _fail(code: str, message: str) -> Step:
    def step(frame: Frame) -> None:
        raise DataError(code, message)

    return step


def _return(source: int) -> Step:
    def step(frame: Frame) -> int:
        value = frame.registers[source]
        run = frame.run
        run.stack.pop()
        if run.stack:
            run.stack[-1].registers[frame.target] = value
        else:
            run.result = value
        return SWITCH

    return step
