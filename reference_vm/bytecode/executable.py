"""A compiled program: instructions, and the tables they point into.

Plain data that knows no IR. Kernels are named here and made by `linking`; constants hold their
bytes, or say in which weights file they lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, Union, final

from reference_vm.bytecode.instructions import Instruction
from reference_vm.bytecode.symbols import lone_symbols
from reference_vm.source import Span
from reference_vm.types import DeviceName, DType, Type, substitute_params


@final
@dataclass(frozen=True, slots=True)
class InlineData:
    """Elements in row-major order, little-endian."""

    data: bytes | memoryview = field(repr=False)
    """Read-only."""


@final
@dataclass(frozen=True, slots=True)
class WeightFile:
    """A tensor of a weights file beside the module."""

    file: str
    key: str


@final
@dataclass(frozen=True, slots=True)
class ConstantSlot:
    """A constant, and the device that it is placed on when the program is loaded."""

    dtype: DType
    shape: tuple[int, ...]
    data: ConstantData
    device: int
    value: str | None = None
    """The source variable it is."""

    packed: bool = False
    """Whether it is put into panels when it is loaded (`jit.panels`), and only they are kept: a
    matrix that only kernels read which want it so."""

    span: Span | None = None


ConstantData: TypeAlias = Union[InlineData, WeightFile]


@final
@dataclass(frozen=True, slots=True)
class KernelSlot:
    """A kernel to be made for one kind of device."""

    name: str
    kind: str
    """The device kind."""


@final
@dataclass(frozen=True, slots=True)
class ConstructorSlot:
    """One way to make a value of a data type."""

    name: str
    fields: tuple[Type, ...]
    """Their types, which name the data type's own parameters."""


@final
@dataclass(frozen=True, slots=True)
class DataTypeSlot:
    """A data type; a value is told by its *tag*, the index of the constructor that made it."""

    name: str
    params: tuple[str, ...]
    constructors: tuple[ConstructorSlot, ...]

    def fields(self, tag: int, args: Sequence[Type]) -> tuple[Type, ...]:
        """Return the types of the fields of a value of the data type with these arguments."""
        values = dict(zip(self.params, args, strict=True))
        return tuple(substitute_params(t, values) for t in self.constructors[tag].fields)

    def tag(self, constructor: object) -> int | None:
        """Return the tag of a constructor, by its name; ``None`` if there is none of that name."""
        return next((i for i, c in enumerate(self.constructors) if c.name == constructor), None)


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function; its tensors' homes are in its type."""

    name: str
    type: Type
    value: str | None = None
    """The source variable it is: ``main/%a``."""

    span: Span | None = None
    donated: bool = False


@final
@dataclass(frozen=True, slots=True)
class SymbolBound:
    """The range that a symbol must lie in."""

    lower: int = 0
    upper: int | None = None
    """Inclusive."""


@final
@dataclass(frozen=True)
class FunctionCode:
    """A function. Its parameters are in the registers 0, 1, …, when it starts."""

    name: str
    params: tuple[Parameter, ...]
    result: Type
    registers: int
    symbols: tuple[str, ...]
    """Those of the parameters first; each has a slot in the frame."""

    instructions: tuple[Instruction, ...]
    bounds: Mapping[str, SymbolBound] = field(default_factory=dict)
    entry: bool = True
    """Whether a session may run it."""

    lent: bool = True
    """Whether its parameters are lent to it, since it is called from outside only; otherwise each
    is handed over."""

    @cached_property
    def hidden_symbols(self) -> tuple[str, ...]:
        """The symbols that stand alone only inside data types in the parameters."""
        told = {s for p in self.params for s in lone_symbols(p.type, inside=False)}
        all_ = (s for p in self.params for s in lone_symbols(p.type, inside=True))
        return tuple(s for s in dict.fromkeys(all_) if s not in told)


@final
@dataclass(frozen=True)
class Executable:
    """A compiled program."""

    devices: tuple[DeviceName, ...]
    kernels: tuple[KernelSlot, ...]
    constants: tuple[ConstantSlot, ...]
    functions: tuple[FunctionCode, ...]
    data_types: tuple[DataTypeSlot, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, FunctionCode]:
        return {f.name: f for f in self.functions}

    @cached_property
    def indices(self) -> Mapping[str, int]:
        """The index of each function, by name."""
        return {f.name: i for i, f in enumerate(self.functions)}

    @cached_property
    def _field_types(self) -> dict[tuple[int, int, tuple[Type, ...]], tuple[Type, ...]]:
        return {}

    def field_types(self, data_type: int, tag: int, args: tuple[Type, ...]) -> tuple[Type, ...]:
        """Return the types of the fields of a value of a data type; asked again, it is quick."""
        key = (data_type, tag, args)
        found = self._field_types.get(key)
        if found is None:
            found = self._field_types[key] = self.data_types[data_type].fields(tag, args)
        return found

    @cached_property
    def types_by_name(self) -> Mapping[str, int]:
        """The index of each data type, by name."""
        return {t.name: i for i, t in enumerate(self.data_types)}
