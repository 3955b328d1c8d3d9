"""A compiled program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Union, final

from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.ir.nodes import Binding, Constant, Function, Module, Weight
from reference_vm.ir.rewrite import rebuild
from reference_vm.program.saving import save
from reference_vm.runtime.weights import WeightsFolder
from reference_vm.text import parse
from reference_vm.types import DeviceMap


@final
@dataclass(frozen=True)
class ModuleText:
    """A module as text, whose large constants stand beside it."""

    text: str
    constants: Mapping[tuple[str, str], bytes | memoryview]
    """Their elements, by the file and the key that the text names."""

    def module(self) -> Module:
        """Return the module, constants and all.

        Raises:
            CompileError: The text is at fault.
        """
        found = parse(self.text, "module.hir")
        functions = (replace(f, body=rebuild(f.body, self._binding, {})) for f in found.functions)
        return replace(found, functions=tuple(functions))

    def _binding(self, binding: Binding) -> tuple[Binding]:
        value = binding.value
        if not isinstance(value, Weight):
            return (binding,)
        data = self.constants.get((value.file, value.key))
        if data is None:
            return (binding,)
        constant = Constant(value.dtype, value.shape, bytes(data), packed=value.packed)
        return (replace(binding, value=constant),)


_SHOWN: Final = 3
"""How many entries, and parameters of each, one line shows."""


def _signature(code: FunctionCode) -> str:
    params = [f"%{p.name}: {p.type}" for p in code.params]
    more = ["…"] if len(params) > _SHOWN else []
    text = f"@{code.name}({', '.join([*params[:_SHOWN], *more])}) -> {code.result}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_LONGEST: Final = 160


@final
@dataclass(frozen=True)
class Program:
    """A compiled program, ready to be loaded by a `Session` or saved to a file."""

    lowered: Union[Module, ModuleText] = field(repr=False)
    """`module`, or its text."""

    executable: Executable
    primitives: tuple[Function, ...]
    """What each of the executable's kernels is made from when the program is loaded."""

    device_map: DeviceMap = field(default_factory=DeviceMap)
    executor: str | None = None
    """The target that makes the kernels; ``None``: the preferred one of each device kind."""

    weights: WeightsFolder = field(default_factory=WeightsFolder)

    proven: bool = True
    """Whether every tensor certainly has the dims that the bytecode says, lies inside its storage
    and is there when it is read, as is so of what the compiler makes. Of a loaded program the
    verifier says it; where it cannot tell, the interpreter runs the program, and looks."""

    def __repr__(self) -> str:
        """Return one line: the entries with their types, the devices, and how much there is."""
        entries = [_signature(f) for f in self.executable.functions if f.entry]
        more = [f"{len(entries) - _SHOWN} more"] if len(entries) > _SHOWN else []
        shown = "; ".join([*entries[:_SHOWN], *more])
        devices = ", ".join(map(str, self.executable.devices))
        counts = ", ".join(
            f"{n} {what.removesuffix('s') if n == 1 else what}" for what, n in self.size().items()
        )
        return f"<Program {shown} on {devices}: {counts}>"

    def size(self) -> Mapping[str, int]:
        """Return how many instructions, kernels and constants there are."""
        executable = self.executable
        return {
            "instructions": sum(len(f.instructions) for f in executable.functions),
            "kernels": len(executable.kernels),
            "constants": len(executable.constants),
        }

    @cached_property
    def module(self) -> Module:
        """What the compiler made of the module: placed, and lowered as far as was asked for."""
        return self.lowered.module() if isinstance(self.lowered, ModuleText) else self.lowered

    def save(self, path: Path | str) -> None:
        """Write this program to a file, which `reference_vm.load` reads without compiling anew.

        Equal programs make equal bytes, in every process. The weights go into the file. A file that
        stood there before is replaced at once, when all is written.

        Raises:
            CompileError: A weights file is at fault, or the file cannot be written.
        """
        save(Path(path), self)
