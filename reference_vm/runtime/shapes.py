"""The steps that work with shapes: host operators, views, casts, shape values.

None of them touches a tensor's data but ``ReadHost``, which comes before them. Where an operator
must look at a shape that only the run knows, it is given a stand-in: an array of that shape whose
elements all lie at one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import HostOp, MakeShape, MatchCast, Target, View
from reference_vm.devices.api import Tensor, nbytes_of
from reference_vm.diagnostics import DataError
from reference_vm.runtime.frames import Frame, Step
from reference_vm.runtime.image import Image
from reference_vm.runtime.launching import check_promise
from reference_vm.runtime.log import Template
from reference_vm.runtime.sizes import Symbols, compile_dim, compile_shape
from reference_vm.types import HOST, Shape, TensorType, Unknown
from reference_vm.types.arrays import to_numpy

Cast: TypeAlias = Callable[[Symbols, tuple[int, ...]], Symbols]

ShapeOf: TypeAlias = Callable[[Frame], tuple[int, ...]]

_NO_OUTPUT: Final[Sequence[None]] = (None,)


def stand_in(tensor: Tensor) -> Any:
    """Return an array of the tensor's shape and dtype that takes no memory."""
    return np.broadcast_to(np.zeros((), to_numpy(tensor.dtype)), tensor.shape)


def _host_values(frame: Frame, args: Sequence[int]) -> list[Any]:
    values = (frame.registers[a] for a in args)
    return [stand_in(v) if isinstance(v, Tensor) else v for v in values]


def host_op_step(image: Image, code: FunctionCode, instruction: HostOp) -> Step:
    kernel = image.kernels[instruction.kernel]
    args = instruction.args
    target, site = instruction.target, instruction.site
    value = target.value if isinstance(target, Target) else None
    template = Template(
        "shape", site.op, str(HOST), kernel.ops, site.defines, write_values=(value,)
    )
    deliver = _tensor_result(image, target) if isinstance(target, Target) else _shape_result(target)

    def step(frame: Frame) -> None:
        (result,) = kernel(np, _host_values(frame, args), _NO_OUTPUT)
        written = deliver(frame, result)
        log = frame.run.log
        if log is not None:
            uses = () if written is None else (written.use,)
            log.append((template, (), uses, None, None))

    return step


def _tensor_result(image: Image, target: Target) -> Callable[[Frame, Any], Tensor | None]:
    host = image.host

    def deliver(frame: Frame, result: Any) -> Tensor:
        array = np.asarray(result, to_numpy(target.dtype), order="C")
        buffer = frame.run.allocate(host, array.nbytes)
        tensor = Tensor(buffer, 0, target.dtype, array.shape, array.nbytes)
        host.upload(array, tensor)
        check_promise(target, tensor)
        frame.registers[target.register] = tensor
        return tensor

    return deliver


def _shape_result(register: int) -> Callable[[Frame, Any], Tensor | None]:
    def deliver(frame: Frame, result: Any) -> None:
        frame.registers[register] = tuple(int(d) for d in result)

    return deliver


def view_step(image: Image, code: FunctionCode, instruction: View) -> Step:
    source, target = instruction.source, instruction.target
    shape_of = _view_shape(image, code, instruction)
    register, dtype = target.register, target.dtype

    def step(frame: Frame) -> None:
        tensor: Tensor = frame.registers[source]
        nbytes = tensor.nbytes
        view = Tensor(tensor.buffer, tensor.offset, dtype, shape_of(frame), nbytes)
        if nbytes_of(dtype, view.shape) != nbytes:
            found, expected = TensorType(dtype, tensor.shape), TensorType(dtype, view.shape)
            raise DataError("shape-mismatch", f"found {found}, which is no {expected}")
        check_promise(target, view)
        frame.registers[register] = view

    return step


def _view_shape(image: Image, code: FunctionCode, instruction: View) -> ShapeOf:
    target = instruction.target
    if instruction.kernel is None:
        assert target.shape is not None
        numbers = compile_shape(target.shape, image.slots(code))
        return lambda frame: numbers(frame.symbols)
    kernel = image.kernels[instruction.kernel]
    args = (instruction.source, *instruction.args)

    def computed(frame: Frame) -> tuple[int, ...]:
        (result,) = kernel(np, _host_values(frame, args), _NO_OUTPUT)
        return tuple(result.shape)

    return computed


def make_shape_step(code: FunctionCode, instruction: MakeShape) -> Step:
    numbers = compile_shape(instruction.dims, {s: i for i, s in enumerate(code.symbols)})
    target = instruction.target

    def step(frame: Frame) -> None:
        frame.registers[target] = numbers(frame.symbols)

    return step


def cast_symbols(code: FunctionCode, instruction: MatchCast) -> Cast:
    """Return what tells the symbols after a cast from those before, and the dims of the value.

    It raises `DataError` for dims that are not as the cast says.
    """
    slots = {s: i for i, s in enumerate(code.symbols)}
    type_ = instruction.type
    binds = [(axis, slots[symbol]) for axis, symbol in instruction.binds]
    shape = type_.shape if isinstance(type_, TensorType) else type_.dims
    check = _dims_check(shape, slots)

    def told(symbols: Symbols, dims: tuple[int, ...]) -> Symbols:
        if shape is not None and len(dims) != len(shape):
            raise DataError("match-cast", f"the rank is {len(dims)}, expected {len(shape)}")
        if binds:
            bound = list(symbols)
            for axis, slot in binds:
                bound[slot] = dims[axis]
            symbols = tuple(bound)
        check(symbols, dims)
        return symbols

    return told


def match_cast_step(code: FunctionCode, instruction: MatchCast) -> Step:
    source, target = instruction.source, instruction.target
    told = cast_symbols(code, instruction)

    def step(frame: Frame) -> None:
        value = frame.registers[source]
        dims = value.shape if isinstance(value, Tensor) else value
        frame.symbols = told(frame.symbols, dims)
        frame.registers[target] = value

    return step


def _dims_check(
    shape: Shape | None, slots: dict[str, int]
) -> Callable[[Symbols, tuple[int, ...]], None]:
    expected = [
        (axis, dim, compile_dim(dim, slots))
        for axis, dim in enumerate(shape or ())
        if not isinstance(dim, Unknown)
    ]

    def check(symbols: Symbols, dims: tuple[int, ...]) -> None:
        for axis, dim, number in expected:
            wanted = number(symbols)
            if dims[axis] != wanted:
                same = str(dim) == str(wanted)
                text = str(wanted) if same else f"{dim} = {wanted}"
                raise DataError("match-cast", f"dim {axis} is {dims[axis]}, expected {text}")

    return check
