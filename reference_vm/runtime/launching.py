"""The steps that do work on a device: kernels and copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import Copy, Launch, Target
from reference_vm.devices.api import DeviceApi, Operand, Tensor
from reference_vm.devices.transfer import transfer
from reference_vm.diagnostics import DataError
from reference_vm.runtime.frames import Frame, Run, Step
from reference_vm.runtime.image import Image
from reference_vm.runtime.log import SKIPPED, PathLog, Template, Timing
from reference_vm.runtime.sizes import bytes_of, compile_extent
from reference_vm.runtime.trace import Cause
from reference_vm.types import DType, TensorType

Maker: TypeAlias = Callable[[Frame], "Tensor | None"]
"""Makes the tensor that a result is to be written to; ``None`` if its size is not known."""


def launch_step(image: Image, code: FunctionCode, instruction: Launch) -> Step:
    """Return the step that runs a kernel, or only notes it where there is nothing to compute."""
    device = image.devices[instruction.device]
    kernel = image.kernels[instruction.kernel]
    launch, args = device.launch, instruction.args
    makers = [maker(image, code, device, target) for target in instruction.targets]
    results = [target.register for target in instruction.targets]
    note = _Noter(device, _launch_template(image, instruction))
    adopt = _adopter(instruction.targets)
    foretell = _foreteller(image, device, instruction)
    can_fail = kernel.can_fail

    def step(frame: Frame) -> None:
        registers, run = frame.registers, frame.run
        inputs = [registers[a] for a in args]
        outputs = [make(frame) for make in makers]
        if foretell is not None:
            foretell(run, inputs, outputs)
        for out in outputs:
            if can_fail or out is None or out.nbytes:
                break
        else:
            _keep(registers, results, outputs)
            note.skipped(run, inputs, outputs)
            return
        if run.checked:
            _poison(device, inputs, outputs)
        start = run.now(device) if note.timed or run.profiled else None
        made = launch(kernel, inputs, outputs)
        if len(results) == 1:
            registers[results[0]] = made[0]
        else:
            _keep(registers, results, made)
        if foretell is not None:
            adopt(run, outputs, made)
        if run.log is not None:
            note.ran(run, run.log, inputs, made, start)

    return step


def _foreteller(
    image: Image, device: DeviceApi, instruction: Launch
) -> Callable[[Run, Sequence[Operand], list[Tensor | None]], None] | None:
    """Return what the shape function is asked for before a launch; ``None`` for nothing.

    It checks operands that might not fit one another, and allocates the results whose size could
    not be told when the program was compiled.
    """
    told, host, targets = image.shape_function(instruction.kernel), image.host, instruction.targets
    if image.proven and all(target.is_sized for target in targets) and told.is_certain:
        return None
    reads = told.reads

    def form(operand: Operand, read: bool) -> Any:
        if not isinstance(operand, Tensor):
            return operand
        return host.download(operand) if read else operand.shape

    def foretell(run: Run, inputs: Sequence[Operand], outputs: list[Tensor | None]) -> None:
        shapes = told([form(x, read) for x, read in zip(inputs, reads, strict=True)])
        for place, (target, shape) in enumerate(zip(targets, shapes, strict=True)):
            made = outputs[place]
            if shape is None and not image.proven:
                outputs[place] = None  # the kernel brings memory, and is held to the promise
            if shape is None or (made is not None and made.shape == shape):
                continue
            _check_dims(target, target.dtype, shape)
            if made is not None:
                raise _unfit(target, target.dtype, shape)
            nbytes = bytes_of(shape, target.dtype.itemsize, target.shape)
            buffer = run.allocate(device, nbytes)
            outputs[place] = Tensor(buffer, 0, target.dtype, shape, nbytes)

    return foretell


def _keep(registers: list[Any], results: Sequence[int], made: Sequence[Tensor | None]) -> None:
    for register, tensor in zip(results, made, strict=True):
        registers[register] = tensor


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

    def step(frame: Frame) -> None:
        origin: Tensor = frame.registers[source]
        copy = make(frame)
        if copy is None:
            buffer = frame.run.allocate(device, origin.nbytes)
            copy = Tensor(buffer, 0, origin.dtype, origin.shape, origin.nbytes)
        run = frame.run
        start = run.now(device)
        via = transfer(origin, copy)
        frame.registers[target.register] = copy
        log = run.log
        if log is not None:
            timing = None if start is None else Timing(start, (run.now(device) or start) - start)
            log.append((template, (origin.use,), (copy.use,), timing, via))

    return step


def maker(image: Image, code: FunctionCode, device: DeviceApi, target: Target) -> Maker:
    """Return what makes ``target``: in its storage, or in memory of its own."""
    if target.shape is None or not target.is_sized:
        return lambda _: None
    dtype, storage, offset = target.dtype, target.storage, target.offset
    extent = compile_extent(target.shape, dtype.itemsize, image.slots(code))

    if storage is None:

        def own(frame: Frame) -> Tensor:
            shape, nbytes = extent(frame.symbols)
            return Tensor(frame.run.allocate(device, nbytes), 0, dtype, shape, nbytes)

        return own

    proven = image.proven

    def stored(frame: Frame) -> Tensor:
        shape, nbytes = extent(frame.symbols)
        if not proven and offset + nbytes > frame.registers[storage].nbytes:
            raise DataError("shape-mismatch", f"{target.value} does not lie inside its storage")
        return Tensor(frame.registers[storage], offset, dtype, shape, nbytes)

    return stored


def _adopter(
    targets: Sequence[Target],
) -> Callable[[Run, Sequence[Tensor | None], Sequence[Tensor]], None]:
    """Return what takes fresh results over: it checks them against what was promised."""

    def adopt(run: Run, outputs: Sequence[Tensor | None], made: Sequence[Tensor]) -> None:
        for target, out, tensor in zip(targets, outputs, made, strict=True):
            if out is None:
                run.adopt(tensor.buffer)
                check_promise(target, tensor)

    return adopt


def check_promise(target: Target, tensor: Tensor) -> None:
    """Raise `DataError` unless a result whose size was not known fits what is known of it."""
    _check_dims(target, tensor.dtype, tensor.shape)


def _check_dims(target: Target, dtype: DType, shape: tuple[int, ...]) -> None:
    promised = target.shape
    fits = dtype == target.dtype and (
        promised is None
        or (
            len(promised) == len(shape)
            and all(not isinstance(p, int) or p == d for p, d in zip(promised, shape, strict=True))
        )
    )
    if not fits:
        raise _unfit(target, dtype, shape)


def _unfit(target: Target, dtype: DType, shape: tuple[int, ...]) -> DataError:
    found, expected = TensorType(dtype, shape), TensorType(target.dtype, target.shape)
    return DataError("shape-mismatch", f"the result is {found}, expected {expected}")


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

    def ran(
        self,
        run: Run,
        log: PathLog,
        inputs: Sequence[Operand],
        made: Sequence[Tensor],
        start: int | None,
    ) -> None:
        timing = None
        if start is not None:
            timing = Timing(start, (run.now(self.device) or start) - start)
        read = tuple([x.use if type(x) is Tensor else None for x in inputs])
        written = (made[0].use,) if len(made) == 1 else tuple([t.use for t in made])
        log.append((self.template, read, written, timing, None))

    def skipped(
        self, run: Run, inputs: Sequence[Operand], outputs: Sequence[Tensor | None]
    ) -> None:
        if run.log is not None:
            read = tuple(x.use if isinstance(x, Tensor) else None for x in inputs)
            written = tuple(t.use for t in outputs if t is not None)
            run.log.append((self.template, read, written, None, SKIPPED))
