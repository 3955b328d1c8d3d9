"""Arguments: checked against the parameters, and taken to where these live.

A caller hands over NumPy arrays, nested in tuples as the parameter's type says, or `DeviceArray`s
that it put on a device before. A value of a data type is a tuple whose first item is the name of a
constructor, and whose others are its fields: ``("Cons", x, ("Nil",))``. An array for a parameter
that lives on the host is used where it is, without a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np

from reference_vm.bytecode.executable import Executable, Parameter
from reference_vm.devices.api import DeviceApi, Tensor, nbytes_of
from reference_vm.devices.transfer import transfer
from reference_vm.runtime.frames import Run
from reference_vm.runtime.holds import Data
from reference_vm.runtime.image import Image
from reference_vm.runtime.log import Template, Timing
from reference_vm.runtime.nesting import Inner, Leaf, rebuilt
from reference_vm.runtime.sizes import ADDRESSES
from reference_vm.runtime.symbols import BindError
from reference_vm.runtime.trace import Cause
from reference_vm.types import (
    HOST,
    AdtType,
    DeviceName,
    DType,
    FunctionType,
    Shape,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)
from reference_vm.types.arrays import from_numpy, to_numpy


@final
@dataclass(eq=False)
class DeviceArray:
    """An array that a caller put on a device of a session, to hand it over there."""

    tensor: Tensor
    donated: bool = False
    """Whether it was handed to a parameter marked ``donate``, and so is the caller's no more."""

    @property
    def device(self) -> str:
        return str(self.tensor.buffer.device.name)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape


def place_arguments(
    image: Image, params: Sequence[Parameter], args: Sequence[Any], run: Run
) -> list[Any]:
    """Return the registers' first values.

    Raises:
        BindError: An argument is not what its parameter says.
    """
    checkers = [_Checker(image.executable, p) for p in params]
    checked = [
        rebuilt((p.type, arg, ""), checker.look)
        for p, arg, checker in zip(params, args, checkers, strict=True)
    ]
    _check_donations(params, checked)
    return [
        rebuilt((p.type, value), _Placer(image, run, p).look)
        for p, value in zip(params, checked, strict=True)
    ]


def _check_donations(params: Sequence[Parameter], checked: Sequence[Any]) -> None:
    """Raise `BindError` if an array is donated and given a second time."""
    if not any(p.donated for p in params):
        return
    given: dict[int, Parameter] = {}
    for parameter, value in zip(params, checked, strict=True):
        for array in _device_arrays(value):
            buffer = array.tensor.buffer.id
            other = given.get(buffer)
            if other is not None and (parameter.donated or other.donated):
                giver, reader = (parameter, other) if parameter.donated else (other, parameter)
                message = f"the array is donated, and given to %{reader.name} too"
                raise BindError(giver, "use-after-donation", message)
            given[buffer] = parameter


def _device_arrays(value: Any) -> Iterator[DeviceArray]:
    """Yield the device arrays in a checked argument."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, DeviceArray):
            yield top
        elif isinstance(top, tuple | list):
            stack.extend(reversed(top))
        elif isinstance(top, Data):
            stack.extend(reversed(top.fields))


_Given: TypeAlias = tuple[Type, Any, str]
"""What is asked for, what was given, and where in the argument that is."""


@final
@dataclass(frozen=True)
class _Checker:
    """Checks one argument; its leaves become C-contiguous native arrays, or are device arrays."""

    executable: Executable
    parameter: Parameter

    def look(self, given: _Given) -> Leaf | Inner[_Given]:
        type_, arg, path = given
        if isinstance(type_, TupleType):
            return self._tuple(type_, arg, path)
        if isinstance(type_, AdtType):
            return self._data(type_, arg, path)
        if isinstance(type_, ShapeType):
            return Leaf(self._dims(type_, arg, path))
        if isinstance(type_, FunctionType):
            message = f"it is a function, {type_}, which only the program itself can make"
            raise self._wrong("argument-type", message, path)
        return Leaf(self._tensor(type_, arg, path))

    def _wrong(self, code: str, message: str, path: str) -> BindError:
        return BindError(self.parameter, code, message, path)

    def _tuple(self, type_: TupleType, arg: Any, path: str) -> Inner[_Given]:
        if not isinstance(arg, tuple | list) or len(arg) != len(type_.items):
            raise self._wrong("argument-type", f"found {_described(arg)}, expected {type_}", path)
        pairs = enumerate(zip(type_.items, arg, strict=True))
        return Inner([(t, a, _inside(path, i)) for i, (t, a) in pairs], _as_it_is)

    def _data(self, type_: AdtType, arg: Any, path: str) -> Inner[_Given]:
        index = self.executable.types_by_name[type_.name]
        slot = self.executable.data_types[index]
        name = arg[0] if isinstance(arg, tuple | list) and arg else None
        tag = slot.tag(name) if isinstance(name, str) else None
        if tag is None:
            found = f"the constructor {name}" if isinstance(name, str) else _described(arg)
            known = ", ".join(f"({c.name!r}, …)" for c in slot.constructors)
            message = f"found {found}, expected {type_}: a tuple, one of {known}"
            raise self._wrong("argument-type", message, path)
        fields = self.executable.field_types(index, tag, type_.args)
        if len(arg) != 1 + len(fields):
            message = f"found {name} with {len(arg) - 1} fields, expected {len(fields)}"
            raise self._wrong("argument-type", message, path)
        pairs = enumerate(zip(fields, arg[1:], strict=True), 1)
        items = [(t, a, _inside(path, i)) for i, (t, a) in pairs]
        return Inner(items, lambda made: Data(index, tag, made))

    def _tensor(self, type_: TensorType, arg: Any, path: str) -> Any:
        array = arg if isinstance(arg, DeviceArray) else self._array(type_, arg, path)
        if isinstance(array, DeviceArray) and array.donated:
            raise self._wrong("use-after-donation", "it was donated to an earlier run", path)
        dtype, shape = self._dtype(type_, array, path), tuple(array.shape)
        if dtype != type_.dtype:
            raise self._wrong("argument-dtype", f"found {dtype}, expected {type_}", path)
        if type_.shape is None:
            return array
        ranked = len(shape) == len(type_.shape)
        if not ranked or differ(type_.shape, shape):
            found = f"found {TensorType(dtype, shape)}, expected {type_}"
            raise self._wrong("argument-shape" if ranked else "argument-rank", found, path)
        return array

    def _array(self, type_: TensorType, arg: Any, path: str) -> Any:
        if isinstance(arg, np.ma.MaskedArray):
            found = "found a masked array, whose mask would be lost, expected an array"
            how = "say what to put there: array.filled(value)"
            raise self._wrong("argument-type", f"{found}: {type_}; {how}", path)
        if not isinstance(arg, np.ndarray | np.generic | bool | int | float):
            message = f"found {_described(arg)}, expected an array: {type_}"
            raise self._wrong("argument-type", message, path)
        array = np.asarray(arg, order="C")
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return array

    def _dtype(self, type_: TensorType, array: Any, path: str) -> DType:
        if isinstance(array, DeviceArray):
            return array.tensor.dtype
        if array.dtype == to_numpy(type_.dtype):
            return type_.dtype
        try:
            return from_numpy(array.dtype)
        except TypeError as error:
            raise self._wrong("argument-dtype", f"{error}, expected {type_}", path) from error

    def _dims(self, type_: ShapeType, arg: Any, path: str) -> tuple[int, ...]:
        given = arg.tolist() if type(arg) is np.ndarray and arg.ndim == 1 else arg
        if not isinstance(given, tuple | list):
            message = f"found {_described(arg)}, expected a tuple of dims: {type_}"
            raise self._wrong("argument-type", message, path)
        for axis, dim in enumerate(given):
            self._dim(axis, dim, path)
        dims = tuple(map(int, given))
        if type_.dims is not None and len(dims) != len(type_.dims):
            message = f"found {len(dims)} dims, expected {type_}"
            raise self._wrong("argument-shape", message, path)
        if type_.dims is not None and differ(type_.dims, dims):
            raise self._wrong("argument-shape", f"found {list(dims)}, expected {type_}", path)
        return dims

    def _dim(self, axis: int, dim: Any, path: str) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer):
            found = f"{dim!r}" if isinstance(dim, bool | float) else _described(dim)
            message = f"dim {axis} is {found}, expected an integer"
            raise self._wrong("argument-type", message, path)
        if not 0 <= dim < ADDRESSES:
            message = f"dim {axis} is {dim}, expected 0 to {ADDRESSES - 1}"
            raise self._wrong("argument-shape", message, path)


_PATH: Final = 60
"""How long the place of a value in an argument gets; deeper inside it is not told."""


def _inside(path: str, index: int) -> str:
    """Return the place of an item, as one would write it in Python."""
    if len(path) < _PATH:
        return f"{path}[{index}]"
    return path if path.endswith("…") else f"{path}…"


def differ(shape: Shape, dims: Sequence[int]) -> bool:
    """Whether a dim is another number than the one that is asked for."""
    return any(isinstance(d, int) and d != n for d, n in zip(shape, dims, strict=True))


def _as_it_is(made: tuple[Any, ...]) -> Any:
    return made


def _described(arg: Any) -> str:
    if isinstance(arg, tuple | list):
        return f"a tuple of {len(arg)}"
    if isinstance(arg, np.ndarray):
        return f"an array of {arg.ndim} axes"
    name = type(arg).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


@dataclass(frozen=True)
class _Placer:
    """Takes one argument to where its parameter lives."""

    image: Image
    run: Run
    parameter: Parameter

    def look(self, given: tuple[Type, Any]) -> Leaf | Inner[tuple[Type, Any]]:
        type_, value = given
        if isinstance(type_, TupleType):
            return Inner(list(zip(type_.items, value, strict=True)), _as_it_is)
        if isinstance(value, Data):
            assert isinstance(type_, AdtType)
            index, tag = value.data_type, value.tag
            fields = self.image.executable.field_types(index, tag, type_.args)
            items = list(zip(fields, value.fields, strict=True))
            return Inner(items, lambda made: Data(index, tag, made))
        return Leaf(self._tensor(type_, value) if isinstance(type_, TensorType) else value)

    def _tensor(self, type_: TensorType, value: Any) -> Tensor:
        home = self._home(type_)
        if isinstance(value, DeviceArray):
            self._take(value)
            return self._from_device(value.tensor, home)
        if home is self.image.host:
            tensor = self.image.host.wrap(value)
            self.run.borrowed.append(tensor.buffer)
            return tensor
        return self._from_host(value, type_, home)

    def _home(self, type_: TensorType) -> DeviceApi:
        name = device_of(type_)
        for device in self.image.devices:
            if device.name == name:
                return device
        raise AssertionError(f"{name} is not in the executable's table")

    def _take(self, array: DeviceArray) -> None:
        """Let the run own an array that is donated."""
        if self.parameter.donated:
            array.donated = True
            self.run.live[array.tensor.buffer.id] = array.tensor.buffer

    def _from_device(self, tensor: Tensor, home: DeviceApi) -> Tensor:
        if tensor.buffer.device is home:
            return tensor
        target = self._fresh(tensor.dtype, tensor.shape, tensor.nbytes, home)
        start = self.run.now(home)
        via = transfer(tensor, target)
        self._note(target, tensor.buffer.device.name, start, via)
        return target

    def _from_host(self, array: Any, type_: TensorType, home: DeviceApi) -> Tensor:
        nbytes = nbytes_of(type_.dtype, array.shape)
        target = self._fresh(type_.dtype, array.shape, nbytes, home)
        start = self.run.now(home)
        home.upload(array, target)
        self._note(target, HOST, start, None)
        return target

    def _fresh(self, dtype: Any, shape: tuple[int, ...], nbytes: int, home: DeviceApi) -> Tensor:
        return Tensor(self.run.allocate(home, nbytes), 0, dtype, shape, nbytes)

    def _note(self, target: Tensor, source: DeviceName, start: int | None, via: str | None) -> None:
        if self.run.log is None:
            return
        device = target.buffer.device
        cause = Cause("argument", self.parameter.value)
        template = Template(
            "copy",
            "copy",
            str(device.name),
            write_values=(self.parameter.value,),
            cause=cause,
            source=str(source),
        )
        timing = None if start is None else Timing(start, (self.run.now(device) or start) - start)
        self.run.log.append((template, (), (target.use,), timing, via))


def device_of(type_: TensorType) -> DeviceName:
    """Return where tensors of a type live."""
    vdevice = type_.vdevice
    return HOST if vdevice is None or vdevice.device is None else vdevice.device
