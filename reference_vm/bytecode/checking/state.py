"""What a walk over one function knows at an instruction, and what all checks say alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias, final

from reference_vm.bytecode.checking.held import Held, Memory, fits, of_type, word
from reference_vm.bytecode.checking.lives import Lives
from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import Register
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


@final
@dataclass
class State:
    """What is known at an instruction."""

    executable: Executable
    function: FunctionCode
    signatures: Sequence[Signature] | None
    """Of each kernel; ``None`` where only the bytecode is at hand."""

    held: dict[Register, Held] = field(default_factory=dict)
    """What each register holds; those that may be empty are missing."""

    lives: Lives = field(default_factory=Lives)
    _places: int = 0

    def signature(self, kernel: int) -> Signature | None:
        return None if self.signatures is None else self.signatures[kernel]

    def fresh(self) -> Memory:
        """Return memory that is made here, with one hold on it."""
        self._places += 1
        self.lives.begin(self._places)
        return frozenset((self._places,))

    def of_type(self, type_: Type, memory: Memory) -> Held:
        """Return a value of a type, on the devices that the type says."""
        homes = [leaf.vdevice for leaf in leaves(type_)]
        names = {None if home is None else home.device for home in homes}
        device = None
        if len(names) == 1:
            (name,) = names
            if name in self.executable.devices:
                device = self.executable.devices.index(name)
        return of_type(type_, device, memory)

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

    def passed(self, args: Sequence[Register], types: Sequence[Type]) -> Problems:
        """Yield a problem for each argument that is not of its type."""
        if len(args) != len(types):
            yield f"{len(args)} values stand where {len(types)} are expected"
            return
        for register, type_ in zip(args, types, strict=True):
            if not fits(self.held[register], type_):
                yield self.wrong(register, str(type_))
