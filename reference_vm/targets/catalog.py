"""The targets there are, each with the device kinds it compiles for: one line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.targets.numba.target import NUMBA
from reference_vm.targets.numpy import NUMPY
from reference_vm.targets.target import Target

_TARGETS: Final[tuple[tuple[Target, frozenset[str]], ...]] = (
    (NUMBA, frozenset({"cpu", "sim"})),
    (NUMPY, frozenset({"cpu", "sim", "cuda"})),
)
"""The preferred one of a kind comes first."""

TARGETS: Final[Mapping[str, Target]] = MappingProxyType({t.name: t for t, _ in _TARGETS})


def check_executor(executor: str | None) -> None:
    """Raise `CompileError` unless there is a target of this name, or none is named."""
    if executor is None:
        return
    if not isinstance(executor, str):
        raise CompileError(catalog.invalid_option("executor", executor, ", ".join(TARGETS)))
    if executor not in TARGETS:
        raise CompileError(catalog.unknown_executor(executor, tuple(TARGETS)))
    if not _is_available(TARGETS[executor]):
        raise CompileError(catalog.missing_package(f"executor {executor}", "llvmlite", "numba"))


def target_for(kind: str, executor: str | None = None) -> Target:
    """Return the target that compiles for a device kind.

    ``executor`` names one; where that does not compile for ``kind``, and where none is named, it is
    the first that does.

    Raises:
        KeyError: There is no target called ``executor``.
    """
    if executor is not None:
        named = TARGETS[executor]
        if any(t is named and kind in kinds for t, kinds in _TARGETS):
            return named
    return next(t for t, kinds in _TARGETS if kind in kinds and _is_available(t))


def _is_available(target: Target) -> bool:
    return target is not NUMBA or NUMBA.available
