"""Where, in a placed function, each read needs its operand to be.

An operator reads on the device of its result, a host operand and a condition on the host, a
function where its parameter lives, an arm of an ``if`` yields where the merged value lives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from reference_vm.analysis.data_types import DataTypes
from reference_vm.analysis.faces import Faces
from reference_vm.analysis.values import MOVES, Means
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Call,
    Closure,
    Construct,
    GlobalRef,
    If,
    Invoke,
    MakeTuple,
    Match,
    Module,
    Operand,
    Project,
    Var,
    blocks,
)
from reference_vm.types import (
    AdtType,
    FunctionType,
    TensorType,
    Type,
    VirtualDevice,
    leaves,
)


@final
@dataclass(frozen=True, slots=True)
class Demand:
    """One read: the faces that are read, and where each has to be."""

    faces: tuple[int, ...]
    devices: tuple[VirtualDevice, ...]
    cause: str
    """``read``, ``host``, ``result`` or ``explicit``."""


def devices_of(var: Var) -> tuple[VirtualDevice, ...]:
    """Return the device of each leaf of a placed variable."""
    type_ = var.type
    if type(type_) is TensorType and type_.vdevice is not None:
        return (type_.vdevice,)
    assert type_ is not None
    return devices_in(type_, var.name)


def devices_in(type_: Type, name: str = "?") -> tuple[VirtualDevice, ...]:
    """Return the device of each leaf of a placed type."""
    found = tuple(leaf.vdevice for leaf in leaves(type_))
    placed = tuple(device for device in found if device is not None)
    assert len(placed) == len(found), f"%{name} is not placed yet"
    return placed


class Locality:
    """Says what each binding of one function of a placed module demands."""

    def __init__(self, faces: Faces, module: Module, host: VirtualDevice) -> None:
        self.faces = faces
        self.module = module
        self.types = DataTypes(module)
        self.host = host

    def is_local(self, binding: Binding) -> bool:
        """Whether ``binding``, which holds no blocks, reads all that it reads where it is."""
        value, type_ = binding.value, binding.var.type
        if type(value) is Call and type(type_) is TensorType and self.faces.plain[value.op]:
            here = type_.vdevice
            assert here is not None, f"%{binding.var.name} is not placed yet"
            for arg in value.args:
                if type(arg) is Var and type(arg.type) is TensorType:
                    there = arg.type.vdevice
                    if there is not here and there != here:
                        return False
            return True
        if isinstance(value, Invoke) and devices_in(self.result(value)) != devices_of(binding.var):
            return False
        return all(
            self.faces.home(face) == device
            for demand in self.demands(binding)
            for face, device in zip(demand.faces, demand.devices, strict=True)
        )

    def is_plain(self, binding: Binding) -> bool:
        """Whether ``binding`` makes one tensor of operands that it all reads on its device."""
        value = binding.value
        if type(value) is not Call or type(binding.var.type) is not TensorType:
            return False
        return self.faces.plain[value.op]

    def demands(self, binding: Binding) -> Iterator[Demand]:
        """Yield what ``binding`` reads and where it needs it, operand by operand.

        What its blocks read is not included.
        """
        value, of = binding.value, self.faces.of
        match value:
            case Call():
                yield from self._call(binding, value)
            case If(condition=condition):
                yield Demand(of[condition], (self.host,), "host")
            case Alias(var=var):
                yield Demand(of[var], devices_of(binding.var), "read")
            case Project():
                yield Demand(self.faces.projected(value), devices_of(binding.var), "read")
            case MakeTuple(items=items):
                devices, start = devices_of(binding.var), 0
                for item in items:
                    stop = start + len(of[item])
                    yield Demand(of[item], devices[start:stop], "read")
                    start = stop
            case Invoke():
                yield from self._arguments(value, self.parameters(value))
            case Construct():
                assert isinstance(binding.var.type, AdtType)
                fields = self.types.field_types(value.constructor, binding.var.type.args)
                for arg, type_ in zip(value.args, fields, strict=True):
                    yield Demand(of[arg], devices_in(type_), "read")
            case _:
                return

    def _call(self, binding: Binding, call: Call) -> Iterator[Demand]:
        reading, means = self.faces.reading(call.op), MOVES.get(call.op)
        if reading is None or means is Means.COPY:
            return
        here = devices_of(binding.var)[:1] or (self.host,)
        cause = "explicit" if means is Means.FIXED else "read"
        for index, arg in enumerate(call.args):
            if not is_read(index, arg, metadata=reading.metadata):
                continue
            assert isinstance(arg, Var)
            faces = self.faces.of[arg]
            if reading.on_host or reading.is_host(index):
                yield Demand(faces, (self.host,), "host")
            else:
                yield Demand(faces, here, cause)

    def parameters(self, invoke: Invoke) -> Sequence[Type]:
        """Return the types of the parameters of what ``invoke`` calls."""
        if isinstance(invoke.callee, GlobalRef):
            params = self.module.by_name[invoke.callee.function].params
            return [p.type for p in params if p.type is not None]
        assert isinstance(invoke.callee.type, FunctionType)
        return invoke.callee.type.params

    def result(self, invoke: Invoke) -> Type:
        """Return the type of the result of what ``invoke`` calls."""
        if isinstance(invoke.callee, GlobalRef):
            return self.module.by_name[invoke.callee.function].result
        assert isinstance(invoke.callee.type, FunctionType)
        return invoke.callee.type.result

    def _arguments(self, invoke: Invoke, params: Sequence[Type]) -> Iterator[Demand]:
        for arg, type_ in zip(invoke.args, params, strict=True):
            if isinstance(arg, Var):
                yield Demand(self.faces.of[arg], devices_in(type_, arg.name), "read")

    def yielded(self, binding: Binding) -> Iterator[Demand]:
        """Yield, for each block of ``binding``, where its result has to be."""
        value = binding.value
        if isinstance(value, Closure):
            yield Demand(self.faces.of[value.body.result], devices_in(value.result), "result")
        elif isinstance(value, If | Match):
            for inner in blocks(value):
                yield Demand(self.faces.of[inner.result], devices_of(binding.var), "read")


def is_elsewhere(operand: Operand, device: VirtualDevice) -> bool:
    """Whether ``operand`` is a tensor on another device."""
    if type(operand) is not Var or type(operand.type) is not TensorType:
        return False
    here = operand.type.vdevice
    return here is not device and here != device


def is_read(index: int, operand: object, *, metadata: bool) -> bool:
    """Whether the data of an operator's operand is read, and may have to be moved for it."""
    if not isinstance(operand, Var) or not isinstance(operand.type, TensorType):
        return False
    return index > 0 or not metadata


__all__ = ["Demand", "Locality", "devices_in", "devices_of", "is_elsewhere", "is_read"]
