"""Making instructions ready to run: each becomes a function of the frame.

All that does not change from run to run is looked up once, here: devices, kernels, sizes, the
records' templates.
"""

from __future__ import annotations

from typing import Any

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import (
    AllocStorage,
    Branch,
    Copy,
    HostOp,
    Instruction,
    Invoke,
    Jump,
    Kill,
    Launch,
    LoadConstant,
    MakeShape,
    MakeTuple,
    MatchCast,
    Move,
    Project,
    ReadHost,
    Return,
    View,
)
from reference_vm.devices.api import Buffer
from reference_vm.diagnostics import DataError
from reference_vm.runtime import launching, shapes
from reference_vm.runtime.frames import SWITCH, Frame, Step, enter, tensors
from reference_vm.runtime.image import Image
from reference_vm.runtime.log import Template
from reference_vm.runtime.sizes import compile_dim
from reference_vm.runtime.symbols import bind_symbols
from reference_vm.types import HOST


def prepare(image: Image, code: FunctionCode) -> tuple[Step, ...]:
    """Return the steps of a function, one for each instruction."""
    return tuple(_prepare(image, code, instruction) for instruction in code.instructions)


def _prepare(image: Image, code: FunctionCode, instruction: Instruction) -> Step:
    match instruction:
        case Launch():
            return launching.launch_step(image, code, instruction)
        case Copy():
            return launching.copy_step(image, code, instruction)
        case HostOp():
            return shapes.host_op_step(image, code, instruction)
        case View():
            return shapes.view_step(image, code, instruction)
        case MatchCast():
            return shapes.match_cast_step(code, instruction)
        case MakeShape():
            return shapes.make_shape_step(code, instruction)
        case AllocStorage():
            return _alloc_storage(image, code, instruction)
        case ReadHost():
            return _read_host(image, instruction)
        case Invoke():
            return _invoke(image, instruction)
        case _:
            return _register_step(image, instruction)


def _register_step(image: Image, instruction: Instruction) -> Step:
    """Return the step of an instruction that only moves what registers hold, or jumps."""
    match instruction:
        case LoadConstant(target=target, constant=constant):
            return _load(target, image.constants[constant])
        case MakeTuple(target=target, items=items):
            return _make_tuple(target, items)
        case Project(target=target, source=source, index=index):
            return _project(target, source, index)
        case Move(target=target, source=source):
            return _move(target, source)
        case Kill(registers=registers):
            return _kill(registers)
        case Jump(to=to):
            return lambda _: to
        case Branch(condition=condition, orelse=orelse):
            return lambda frame: None if frame.registers[condition] else orelse
        case Return(source=source):
            return _return(source)
        case _:
            raise AssertionError(instruction)


def _load(target: int, constant: Any) -> Step:
    def step(frame: Frame) -> None:
        frame.registers[target] = constant

    return step


def _make_tuple(target: int, items: tuple[int, ...]) -> Step:
    def step(frame: Frame) -> None:
        registers = frame.registers
        registers[target] = tuple(registers[i] for i in items)

    return step


def _project(target: int, source: int, index: int) -> Step:
    def step(frame: Frame) -> None:
        frame.registers[target] = frame.registers[source][index]

    return step


def _move(target: int, source: int) -> Step:
    def step(frame: Frame) -> None:
        frame.registers[target] = frame.registers[source]

    return step


def _alloc_storage(image: Image, code: FunctionCode, instruction: AllocStorage) -> Step:
    device = image.devices[instruction.device]
    size = compile_dim(instruction.size, image.slots(code))
    target = instruction.target

    def step(frame: Frame) -> None:
        nbytes = size(frame.symbols)
        if nbytes < 0:
            raise DataError("negative-dim", f"the size {instruction.size} is {nbytes} in this run")
        frame.registers[target] = frame.run.allocate(device, nbytes)

    return step


def _kill(registers: tuple[int, ...]) -> Step:
    def step(frame: Frame) -> None:
        held, run = frame.registers, frame.run
        for register in registers:
            value = held[register]
            if isinstance(value, Buffer):
                run.free(value)
            else:
                for tensor in tensors(value):
                    run.free(tensor.buffer)
            held[register] = None

    return step


def _read_host(image: Image, instruction: ReadHost) -> Step:
    host = image.host
    target, source = instruction.target, instruction.source
    template = Template(
        "builtin", "read_host", str(HOST), ("read_host",), read_values=(instruction.value,)
    )

    def step(frame: Frame) -> None:
        tensor = frame.registers[source]
        frame.registers[target] = host.download(tensor)
        log = frame.run.log
        if log is not None:
            log.append((template, (tensor.use,), (), None, None))

    return step


def _invoke(image: Image, instruction: Invoke) -> Step:
    functions = image.functions
    index, args, target = instruction.function, instruction.args, instruction.target

    def step(frame: Frame) -> int:
        function = functions[index]
        values = [frame.registers[a] for a in args]
        callee = enter(function, values, bind_symbols(function.code, values), frame.run)
        callee.target = target
        frame.pc += 1
        frame.run.stack.append(callee)
        return SWITCH

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
