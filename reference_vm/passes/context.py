"""What passes are given, and what they are: the contract of `passes`.

A pass is a frozen dataclass whose fields are its options. It turns a module into a module and never
changes its input. It says which properties of a module it requires and which it establishes; the
pipeline checks both. Passes never import a target: what they must know of one is declared here and
filled in by `compiler`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import ClassVar, Protocol

from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir.nodes import Function, Module
from reference_vm.ops.definition import OpDef
from reference_vm.passes.cost_model import CostModel
from reference_vm.types import HOST, DeviceMap, DeviceName


class Property(Enum):
    """What may hold of a whole module."""

    TYPED = "typed"
    """Every variable has a type, attributes have their defaults filled in, no dataflow blocks."""

    BOUND = "bound"
    """Every virtual device has a concrete device, and no two have the same device and scope."""

    PLACED = "placed"
    """Every tensor has a virtual device and no hint is left."""

    DEVICE_LOCAL = "device-local"
    """Every operator reads from its own device; what moves, moves by a ``device_copy``."""

    PRIMITIVE = "primitive"
    """Work is done only by functions marked ``primitive``, one kernel each."""

    LIFTED = "lifted"
    """No function is written inside another: closures are ``vm.closure``."""

    PLANNED = "planned"
    """Storage is explicit: ``vm.alloc_storage``, ``vm.invoke``, ``vm.kill``."""


class Policy(StrEnum):
    """What to do with a value that is wanted on two devices (`planning.md` section 3)."""

    COPY = "copy"
    REPLICATE = "replicate"
    ERROR = "error"


class TargetTraits(Protocol):
    """What passes may ask of the target that compiles for a device."""

    def fuses(self, op: OpDef) -> bool:
        """Whether the target compiles ``op`` from its loop rule, so that it may be fused."""
        ...

    def max_fused(self) -> int:
        """How many operators one kernel may hold."""
        ...

    def takes(self, function: Function) -> bool:
        """Whether the target has one kernel for ``function``, which holds a matrix product."""
        ...

    def packs(self, function: Function) -> tuple[int, ...]:
        """Return which parameters of a primitive function are matrices that are better in panels.

        Those of them that are constants are put into panels when they are loaded (`jit.panels`).
        """
        ...

    def alignment(self) -> int:
        """Bytes that every storage is aligned to."""
        ...

    def in_place(self, function: Function) -> frozenset[tuple[int, int]]:
        """Return which results of a primitive function may be written over a parameter.

        Each pair is a parameter and a result, by their indices; they have equal types, and the
        kernel has read an element of the parameter for the last time when it writes that of the
        result, whatever threads it runs on.
        """
        ...


@dataclass(frozen=True)
class PassContext:
    """What is fixed for one compilation."""

    ops: Mapping[str, OpDef]
    device_map: DeviceMap = field(default_factory=DeviceMap)
    policy: Policy = Policy.COPY
    default: str | None = None
    """The role, or the device, for what nothing places; ``None``: the first device of the map, or
    the host."""

    nominal: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Sizes of symbols, for weighing copies; otherwise the upper bound, else 64."""

    targets: Mapping[str, TargetTraits] = field(default_factory=lambda: MappingProxyType({}))
    """By device kind."""

    costs: CostModel = field(default_factory=CostModel)
    """What work and transfers cost, for automatic placement."""

    memory: Mapping[DeviceName, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many bytes automatic placement may use at once, of a device that is limited."""

    missing_dtypes: Mapping[DeviceName, frozenset[str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """The element types that a device does not have."""

    host_kernels: Callable[[Function], Kernel] | None = None
    """Makes the kernels of primitive functions on the host, with which work on constants is done
    while compiling; ``None``: none is."""

    @property
    def default_device(self) -> DeviceName:
        if self.default is None:
            return self.device_map.devices[0] if self.device_map else HOST
        name = self.default.removeprefix("@")
        return self.device_map[name] if name in self.device_map else DeviceName.parse(name)


class Pass(Protocol):
    """A step of the compiler, such as ``InsertCopies``; spelled ``insert-copies`` in pipelines."""

    name: ClassVar[str]
    requires: ClassVar[frozenset[Property]]
    establishes: ClassVar[frozenset[Property]]

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return the module after the pass.

        Raises:
            CompileError: The program is at fault.
        """
        ...
