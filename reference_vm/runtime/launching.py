"""The steps that do work on a device: kernels and copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import Copy, Launch, Target
from reference_vm.devices.api import DeviceApi, Operand, Tensor, nbytes_of
from reference_vm.devices.transfer import transfer
from reference_vm.diagnostics import DataError
from reference_vm.runtime.frames import Frame, Step
from reference_vm.runtime.image import Image
from reference_vm.runtime.log import SKIPPED, Template, Timing, use
from reference_vm.runtime.sizes import compile_shape
from reference_vm.runtime.trace import Cause
from reference_vm.types import Poly, TensorType

Maker: TypeAlias = Callable[[Frame], "Tensor | None"]
"""Makes the tensor that a result is to be written to; ``None`` if its size is not known."""


def launch_step(image: Image, code: FunctionCode, instruction: Launch) -> Step:
    device = image.devices[instruction.device]
    kernel = image.kernels[instruction.kernel]
    launch = device.launch
    args = instruction.args
    makers = [maker(image, code, device, target) for target in instruction.targets]
    results = tuple(target.register for target in instruction.targets)
    note = _Noter(device, _launch_template(image, instruction))
    sized = all(target.is_sized for target in instruction.targets)
    adopt = _adopter(instruction.targets)

    def step(frame: Frame) -> None:
        registers, run = frame.registers, frame.run
        inputs = [registers[a] for a in args]
        outputs = [make(frame) for make in makers]
        if sized and not any(out.nbytes for out in outputs if out is not None):
            for register, tensor in zip(results, outputs, strict=True):
                registers[register] = tensor
            note.skipped(frame, inputs, outputs)
            return
        if run.checked:
            _poison(device, inputs, outputs)
        start = note.now()
        made = launch(kernel, inputs, outputs)
        for register, tensor in zip(results, made, strict=True):
            registers[register] = tensor
        if not sized:
            adopt(frame, outputs, made)
        if run.log is not None:
            note.ran(frame, inputs, made, start)

    return step


def copy_step(image: Image, code: FunctionCode, instruction: Copy) -> Step:
    device = image.devices[instruction.device]
    source, target = instruction.source, instruction.target
    cause = Cause(instruction.cause, instruction.value, instruction.reader, instruction.line)
    defines = instruction.site.defines
    template = Template(
        "copy",
        "copy",
        str(device.name),
        ("device_copy",),
        defines,
        (instruction.value,),
        (target.value or instruction.value,),
        cause,
    )
    make = maker(image, code, device, target)
    now = _Noter(device, template).now

    def step(frame: Frame) -> None:
        origin: Tensor = frame.registers[source]
        copy = make(frame)
        if copy is None:
            buffer = frame.run.allocate(device, origin.nbytes)
            copy = Tensor(buffer, 0, origin.dtype, origin.shape, origin.nbytes)
        start = now()
        via = transfer(origin, copy)
        frame.registers[target.register] = copy
        log = frame.run.log
        if log is not None:
            timing = None if start is None else Timing(start, (now() or start) - start)
            log.append((template, (use(origin),), (use(copy),), timing, via))

    return step


def maker(image: Image, code: FunctionCode, device: DeviceApi, target: Target) -> Maker:
    """Return what makes ``target``: in its storage, or in memory of its own."""
    if target.shape is None or not target.is_sized:
        return lambda _: None
    shape_of = compile_shape(target.shape, image.slots(code))
    if not any(isinstance(d, Poly) for d in target.shape):
        return _static_maker(device, target, shape_of(()))
    dtype, storage, offset = target.dtype, target.storage, target.offset

    def make(frame: Frame) -> Tensor:
        shape = _checked(shape_of(frame.symbols), target)
        nbytes = nbytes_of(dtype, shape)
        if storage is not None:
            return Tensor(frame.registers[storage], offset, dtype, shape, nbytes)
        return Tensor(frame.run.allocate(device, nbytes), 0, dtype, shape, nbytes)

    return make


def _static_maker(device: DeviceApi, target: Target, shape: tuple[int, ...]) -> Maker:
    dtype, offset = target.dtype, target.offset
    nbytes = nbytes_of(dtype, shape)
    if target.storage is None:
        return lambda frame: Tensor(frame.run.allocate(device, nbytes), 0, dtype, shape, nbytes)
    storage = target.storage
    return lambda frame: Tensor(frame.registers[storage], offset, dtype, shape, nbytes)


def _checked(shape: tuple[int, ...], target: Target) -> tuple[int, ...]:
    if any(d < 0 for d in shape):
        promised = TensorType(target.dtype, target.shape)
        raise DataError("negative-dim", f"the dims of {promised} are {list(shape)} in this run")
    return shape


def _adopter(
    targets: Sequence[Target],
) -> Callable[[Frame, Sequence[Tensor | None], Sequence[Tensor]], None]:
    """Return what takes fresh results over: it checks them against what was promised."""

    def adopt(frame: Frame, outputs: Sequence[Tensor | None], made: Sequence[Tensor]) -> None:
        for target, out, tensor in zip(targets, outputs, made, strict=True):
            if out is None:
                frame.run.adopt(tensor.buffer)
                check_promise(target, tensor)

    return adopt


def check_promise(target: Target, tensor: Tensor) -> None:
    """Raise `DataError` unless a result whose size was not known fits what is known of it."""
    promised = target.shape
    fits = tensor.dtype == target.dtype and (
        promised is None
        or (
            len(promised) == len(tensor.shape)
            and all(
                not isinstance(p, int) or p == d
                for p, d in zip(promised, tensor.shape, strict=True)
            )
        )
    )
    if not fits:
        found = TensorType(tensor.dtype, tensor.shape)
        expected = TensorType(target.dtype, promised)
        raise DataError("shape-mismatch", f"the result is {found}, expected {expected}")


def _launch_template(image: Image, instruction: Launch) -> Template:
    kernel = image.kernels[instruction.kernel]
    site = instruction.site
    return Template(
        "library" if kernel.library else "kernel",
        site.op,
        str(image.devices[instruction.device].name),
        kernel.ops,
        site.defines,
        instruction.values,
        tuple(t.value for t in instruction.targets),
    )


def _poison(device: DeviceApi, inputs: Sequence[Operand], outputs: Sequence[Tensor | None]) -> None:
    """Make what results overwrite unreadable, unless it is read by this very launch."""
    read = [x for x in inputs if isinstance(x, Tensor)]
    for out in outputs:
        if out is not None and out.nbytes and not any(_overlap(out, x) for x in read):
            device.poison(out)


def _overlap(one: Tensor, other: Tensor) -> bool:
    return (
        one.buffer is other.buffer
        and one.offset < other.offset + other.nbytes
        and other.offset < one.offset + one.nbytes
    )


class _Noter:
    """Writes the records of one launch to the log."""

    __slots__ = ("device", "template", "timed")

    def __init__(self, device: DeviceApi, template: Template) -> None:
        self.device = device
        self.template = template
        self.timed = device.clock() is not None

    def now(self) -> int | None:
        return self.device.clock() if self.timed else None

    def ran(
        self, frame: Frame, inputs: Sequence[Operand], made: Sequence[Tensor], start: int | None
    ) -> None:
        timing = None if start is None else Timing(start, (self.now() or start) - start)
        self._note(frame, inputs, made, timing, None)

    def skipped(
        self, frame: Frame, inputs: Sequence[Operand], outputs: Sequence[Tensor | None]
    ) -> None:
        if frame.run.log is not None:
            self._note(frame, inputs, [o for o in outputs if o is not None], None, SKIPPED)

    def _note(
        self,
        frame: Frame,
        inputs: Sequence[Operand],
        made: Sequence[Tensor],
        timing: Timing | None,
        note: str | None,
    ) -> None:
        template = self.template
        read = tuple(
            [(t.buffer, t.offset, t.nbytes) if type(t) is Tensor else None for t in inputs]
        )
        written = tuple([(t.buffer, t.offset, t.nbytes) for t in made])
        assert frame.run.log is not None
        frame.run.log.append((template, read, written, timing, note))
