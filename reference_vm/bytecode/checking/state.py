"""What a walk over one function knows at an instruction, and what all checks say alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias, final

from reference_vm.bytecode.checking.held import (
    Held,
    of_type,
    word,
)
from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import Register
from reference_vm.bytecode.symbols import lone_symbols
from reference_vm.types import Dim, Type, leaves
from reference_vm.types.dim import symbols

Problems: TypeAlias = Iterator[str]

HOST: Final = 0
"""The index of the host in every table of devices."""


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel takes and makes, by the types of its primitive function."""

    params: tuple[Type, ...]
    results: tuple[Type, ...]
    panels: tuple[int, ...] = ()
    """Which parameters must be constants that lie in panels; no others may."""


@final
@dataclass
class State:
    """What is known at an instruction."""

    executable: Executable
    function: FunctionCode
    signatures: Sequence[Signature]
    """Of each kernel."""

    held: dict[Register, Held] = field(default_factory=dict)
    """What each register holds; those that may be empty are missing."""

    doubts: int = 0
    """How often only a run can tell that a tensor is what is said of it, or lies where it may."""

    @cached_property
    def limits(self) -> Mapping[str, int | None]:
        """The greatest size of each symbol that a parameter's dim is, which every call checks."""
        checked = {
            name
            for parameter in self.function.params
            for name in lone_symbols(parameter.type, inside=False)
        }
        bounds = self.function.bounds
        return {name: bounds[name].upper for name in checked if name in bounds}

    def of_type(self, type_: Type) -> Held:
        """Return a value of a type, on the devices that the type says."""
        homes = [leaf.vdevice for leaf in leaves(type_)]
        names = {None if home is None else home.device for home in homes}
        device = None
        if len(names) == 1:
            (name,) = names
            if name in self.executable.devices:
                device = self.executable.devices.index(name)
        return of_type(type_, device)

    def wrong(self, register: Register, expected: str) -> str:
        return f"register {register} holds {word(self.held[register])}, expected {expected}"

    def unknown(self, dims: Iterable[Dim] | None) -> Problems:
        """Yield a problem for each symbol in ``dims`` that the function has not."""
        for dim in dims or ():
            for symbol in sorted(symbols(dim) - self.known):
                yield f"{symbol} is no symbol of the function"

    @cached_property
    def known(self) -> frozenset[str]:
        """The symbols of the function."""
        return frozenset(self.function.symbols)
