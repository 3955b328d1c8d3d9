"""From LLVM IR to addresses: optimise, emit object code, link it into the process.

What was compiled once is found again by its form, without being printed: in this process by
`Machine`, and in later ones by the `ObjectCache`. The key also holds the processor, its features
and the version of LLVM.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final, final

import llvmlite.binding as llvm

from reference_vm.jit.object_cache import ObjectCache, default_folder

ENTRY: Final = "@kernel"
"""What a module calls its entry; in object code the entry is named by the key."""


@final
@dataclass
class Statistics:
    """What happened since the machine was made."""

    compiled: int = 0
    """Kernels that LLVM compiled."""

    loaded: int = 0
    """Kernels whose object code was on disk."""

    shared: int = 0
    """Kernels asked for again in this process."""


@final
@dataclass
class Machine:
    """The processor of this process, and the code that was linked for it."""

    cache: ObjectCache
    statistics: Statistics = field(default_factory=Statistics)
    _addresses: dict[str, int] = field(default_factory=dict)

    @cached_property
    def _target(self) -> Any:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()
        return llvm.Target.from_triple(llvm.get_process_triple())

    @cached_property
    def _processor(self) -> tuple[str, str]:
        """The name of this processor and its features."""
        return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()

    @cached_property
    def identity(self) -> str:
        """The processor, its features and the version of LLVM: what object code depends on."""
        name, features = self._processor
        return f"{name} {features} {llvm.llvm_version_info}"

    @property
    def features(self) -> frozenset[str]:
        """The processor's features that code may use: ``avx2``, ``fma``."""
        return frozenset(f[1:] for f in self._processor[1].split(",") if f.startswith("+"))

    @cached_property
    def converts_f16(self) -> bool:
        """Whether the processor converts f16 itself; the functions that would are not linked."""
        return "x86" not in llvm.get_process_triple() or "f16c" in self.features

    @cached_property
    def _emitter(self) -> Any:
        name, features = self._processor
        return self._target.create_target_machine(
            cpu=name, features=features, opt=3, reloc="pic", codemodel="small"
        )

    @cached_property
    def _engine(self) -> Any:
        """What links object code; its target machine belongs to it."""
        empty = llvm.parse_assembly("")
        return llvm.create_mcjit_compiler(empty, self._target.create_target_machine())

    def address(self, form: str, text: Callable[[], str]) -> int:
        """Return the address of the function ``@kernel`` of a module of LLVM IR.

        Args:
            form: What the module is made from, with the version of what prints it; equal forms
                must mean equal texts.
            text: Prints the module; called only if no code of this form is at hand.
        """
        return self._address(form, text, self.statistics)

    def glue_address(self, text: str) -> int:
        """Return the address of the function ``@kernel`` of a module of LLVM IR; not counted."""
        return self._address(text, lambda: text, Statistics())

    def _address(self, form: str, text: Callable[[], str], statistics: Statistics) -> int:
        key = hashlib.sha256(f"{self.identity}\n{form}".encode()).hexdigest()
        if key in self._addresses:
            statistics.shared += 1
            return self._addresses[key]
        symbol = f"k{key[:40]}"
        code = self.cache.get(key)
        if code is None:
            code = self._compile(text().replace(ENTRY, f"@{symbol}"))
            self.cache.put(key, code)
            statistics.compiled += 1
        else:
            statistics.loaded += 1
        address = self._addresses[key] = self._link(code, symbol)
        return address

    def _compile(self, text: str) -> bytes:
        module = llvm.parse_assembly(f'target triple = "{llvm.get_process_triple()}"\n{text}')
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization = True
        tuning.slp_vectorization = False
        builder = llvm.create_pass_builder(self._emitter, tuning)
        builder.getModulePassManager().run(module, builder)
        code: bytes = self._emitter.emit_object(module)
        return code

    def _link(self, code: bytes, symbol: str) -> int:
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        address: int = self._engine.get_function_address(symbol)
        return address


@cache
def shared_machine() -> Machine:
    """Return the machine of this process whose code is kept in the user's own folder."""
    return Machine(ObjectCache(default_folder()))
