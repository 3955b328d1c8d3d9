"""The addresses of hand-written kernels, by the form that they are compiled for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from reference_vm.targets import numba
from reference_vm.targets.numba.machine import printer as nest_printer

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

_PRINTERS: Final = (
    "assembly.py",
    "blocks.py",
    "copies.py",
    "counting_code.py",
    "division_code.py",
    "dots.py",
    "fourier_code.py",
    "gather_code.py",
    "gates.py",
    "planes.py",
    "pool_code.py",
    "recurrence.py",
    "product_code.py",
    "product_tiles.py",
    "product_words.py",
    "rounding.py",
    "rows.py",
    "shared_dots.py",
    "taps.py",
    "tree_code.py",
    "vectors.py",
)
"""The modules whose change changes texts."""


def compiled(machine: Machine, kind: str, form: object, text: Callable[[], str]) -> int:
    """Return the address of the kernel of this kind and form; equal ones must have equal reprs."""
    return machine.address(f"{_printer()}\n{kind} {form!r}", text)


@cache
def _printer() -> str:
    """Return a hash of what prints kernels: code that others printed is not found."""
    sources = [files(numba).joinpath(name).read_bytes() for name in _PRINTERS]
    sources.append(nest_printer().encode())
    return hashlib.sha256(b"".join(sources)).hexdigest()
