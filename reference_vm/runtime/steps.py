"""Making instructions ready to run: each becomes a function of the frame.

All that does not change from run to run is looked up once, here: devices, kernels, sizes, the
records' templates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import (
    AllocStorage,
    Branch,
    Copy,
    HostOp,
    Instruction,
    Jump,
    Kill,
    Launch,
    LoadConstant,
    MakeShape,
    MakeTuple,
    MatchCast,
    Move,
    Poison,
    Project,
    ReadHost,
    TakeStorage,
    View,
)
from reference_vm.devices.api import Buffer, Tensor
from reference_vm.diagnostics import DataError
from reference_vm.runtime import launching, shapes
from reference_vm.runtime.calls import call_step
from reference_vm.runtime.frames import Frame, PreparedFunction, Step
from reference_vm.runtime.holds import release
from reference_vm.runtime.image import Image
from reference_vm.runtime.log import Template
from reference_vm.runtime.sizes import compile_dim
from reference_vm.types import HOST


@final
@dataclass
class Prepared:
    """The functions of an image, each made ready when it is asked for: few by the native loop."""

    image: Image
    _known: dict[int, PreparedFunction] = field(default_factory=dict)

    def __getitem__(self, number: int) -> PreparedFunction:
        found = self._known.get(number)
        if found is None:
            code = self.image.executable.functions[number]
            found = self._known[number] = PreparedFunction(code, prepare(self.image, code))
        return found


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
        case TakeStorage():
            return _take_storage(image, code, instruction)
        case Poison(registers=registers):
            return _poison(registers)
        case ReadHost():
            return _read_host(image, instruction)
        case LoadConstant() | MakeTuple() | Project() | Move() | Kill() | Jump() | Branch():
            return _register_step(image, instruction)
        case _:
            return call_step(image, instruction)


def _register_step(
    image: Image, instruction: LoadConstant | MakeTuple | Project | Move | Kill | Jump | Branch
) -> Step:
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


def _take_storage(image: Image, code: FunctionCode, instruction: TakeStorage) -> Step:
    device = image.devices[instruction.device]
    size = compile_dim(instruction.size, image.slots(code))
    target, source = instruction.target, instruction.source
    value = code.params[source].value
    template = Template(
        "builtin", "take_storage", str(device.name), ("take_storage",), read_values=(value,)
    )

    def step(frame: Frame) -> None:
        run, tensor = frame.run, frame.registers[source]
        nbytes, buffer = size(frame.symbols), tensor.buffer
        fits = buffer.device is device and not tensor.offset and buffer.nbytes >= nbytes
        if not fits or not run.has_alone(buffer):
            frame.registers[target] = run.allocate(device, nbytes)
            return
        frame.registers[target] = buffer
        if run.log is not None:
            run.log.append((template, (tensor.use,), (), None, None))

    return step


def _poison(registers: tuple[int, ...]) -> Step:
    def step(frame: Frame) -> None:
        stack = [frame.registers[r] for r in registers] if frame.run.checked else []
        while stack:
            top = stack.pop()
            if isinstance(top, tuple):
                stack.extend(top)
            elif isinstance(top, Tensor) and top.nbytes and top.buffer.alive and top.buffer.owned:
                top.buffer.device.poison(top)

    return step


def _kill(registers: tuple[int, ...]) -> Step:
    def step(frame: Frame) -> None:
        held, run = frame.registers, frame.run
        for register in registers:
            value = held[register]
            if isinstance(value, Buffer):
                run.free(value)
            elif value is not None:
                release(run, value)
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
