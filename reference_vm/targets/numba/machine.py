"""The address of the kernel that a loop nest describes."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from reference_vm import loops
from reference_vm.loops.llvm import print_llvm
from reference_vm.loops.nest import Nest

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

_NAME: Final = "kernel"
"""What `Machine` expects the entry to be called."""


def nest_address(machine: Machine, nest: Nest) -> int:
    """Return the address of the kernel that ``nest`` describes."""
    return machine.address(f"{printer()}\n{nest.form}", lambda: print_llvm(nest, _NAME))


@cache
def printer() -> str:
    """Return a hash of the modules between a nest and its text: others' prints are not found."""
    modules = sorted(files(loops).iterdir(), key=lambda m: m.name)
    sources = [m.read_bytes() for m in modules if m.name.endswith(".py")]
    return hashlib.sha256(b"".join(sources)).hexdigest()
