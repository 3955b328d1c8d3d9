"""The tables of an executable while it is made: equal entries are stored once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from reference_vm.bytecode.executable import (
    ConstantSlot,
    ConstructorSlot,
    DataTypeSlot,
    InlineData,
    KernelSlot,
    WeightFile,
)
from reference_vm.ir.nodes import (
    Adt,
    Binding,
    Block,
    Call,
    Constant,
    Function,
    Operand,
    Var,
    Weight,
)
from reference_vm.types import HOST, Attrs, DeviceName, TensorType, TupleType, Type, tensors


@dataclass
class Tables:
    """Devices, kernels, constants and data types, each by index."""

    devices: dict[DeviceName, int] = field(default_factory=lambda: {HOST: 0})
    """The host is always there, and first."""

    kernels: list[KernelSlot] = field(default_factory=list)
    primitives: list[Function] = field(default_factory=list)
    """What each kernel is made from."""

    constants: list[ConstantSlot] = field(default_factory=list)
    data_types: list[DataTypeSlot] = field(default_factory=list)
    _constructors: dict[str, tuple[int, int]] = field(default_factory=dict)
    _kernel_keys: dict[Hashable, int] = field(default_factory=dict)
    _constant_keys: dict[Hashable, int] = field(default_factory=dict)

    def device(self, name: DeviceName) -> int:
        return self.devices.setdefault(name, len(self.devices))

    def add_devices(self, type_: Type) -> None:
        """Add each device that a type says a tensor of such a value lives on."""
        for tensor in tensors(type_):
            if tensor.vdevice is not None and tensor.vdevice.device is not None:
                self.device(tensor.vdevice.device)

    def primitive(self, function: Function, kind: str) -> int:
        """Return the kernel of a function marked ``primitive``, for a device kind."""
        return self._kernel((function.name, kind), kind, function)

    def single(self, call: Call, result: Type, kind: str) -> int:
        """Return the kernel that runs one operator; equal calls share it."""
        types = tuple(_plain(a.type) if isinstance(a, Var) else None for a in call.args)
        key = (call.op, call.attrs, types, _plain(result), kind)
        found = self._kernel_keys.get(key)
        if found is not None:
            return found
        return self._kernel(key, kind, _wrapped(call, types, _plain(result)))

    def _kernel(self, key: Hashable, kind: str, function: Function) -> int:
        index = self._kernel_keys.setdefault(key, len(self.kernels))
        if index == len(self.kernels):
            self.kernels.append(KernelSlot(function.name, kind))
            self.primitives.append(function)
        return index

    def constant(self, binding: Binding, value: Constant | Weight, device: int) -> int:
        data = (
            InlineData(value.data)
            if isinstance(value, Constant)
            else WeightFile(value.file, value.key)
        )
        key = (value.dtype, value.shape, data, device, value.packed)
        index = self._constant_keys.setdefault(key, len(self.constants))
        if index == len(self.constants):
            source = binding.var.source
            self.constants.append(
                ConstantSlot(
                    value.dtype, value.shape, data, device, source, value.packed, value.span
                )
            )
        return index

    def declare(self, adts: Sequence[Adt]) -> None:
        """Add the data types of a module, and the devices that their fields live on."""
        for index, adt in enumerate(adts):
            for type_ in (f for c in adt.constructors for f in c.fields):
                self.add_devices(type_)
            made = tuple(ConstructorSlot(c.name, c.fields) for c in adt.constructors)
            self.data_types.append(DataTypeSlot(adt.name, adt.params, made))
            self._constructors.update({c.name: (index, tag) for tag, c in enumerate(made)})

    def constructor(self, name: str) -> tuple[int, int]:
        """Return the data type that a constructor is of, and its tag."""
        return self._constructors[name]


def _plain(type_: Type | None) -> Type:
    """Return a type without devices."""
    assert type_ is not None, "code generation needs every variable's type"
    if isinstance(type_, TensorType):
        return type_.on(None)
    if isinstance(type_, TupleType):
        return TupleType(tuple(map(_plain, type_.items)))
    return type_


def _wrapped(call: Call, types: tuple[Type | None, ...], result: Type) -> Function:
    """Return the primitive function that holds ``call`` alone."""
    params = {i: Var(f"x{i}", t) for i, t in enumerate(types) if t is not None}
    args: tuple[Operand, ...] = tuple(params.get(i) for i in range(len(types)))
    out = Var("y", result)
    body = Block((Binding(out, Call(call.op, args, call.attrs)),), out)
    return Function(call.op, tuple(params.values()), result, body, attrs=Attrs(primitive=True))
