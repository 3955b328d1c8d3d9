"""Turning what went wrong in a run into one located diagnostic."""

from __future__ import annotations

from typing import Final

from reference_vm.bytecode.instructions import Instruction, Site
from reference_vm.devices.faults import DeviceError
from reference_vm.diagnostics import DataError, ExecutionError, catalog

FAILURES: Final = (DataError, DeviceError, ArithmeticError, ValueError, IndexError, MemoryError)
"""What kernels and devices raise when a run fails. Anything else is a fault of the program that
this is, and passes through."""


def located(error: Exception, instruction: Instruction | None) -> ExecutionError:
    """Return the error that says where in the program ``error`` came from."""
    site: Site | None = getattr(instruction, "site", None)
    place = (site.op, site.defines[0] if site.defines else None) if site else (None, None)
    span = site.span if site else None
    if isinstance(error, DataError):
        return ExecutionError(
            catalog.run_failed(error.code, error.message, place, span, error.help)
        )
    if isinstance(error, DeviceError):
        return ExecutionError(catalog.run_failed(error.code, str(error), place, span))
    if isinstance(error, MemoryError):
        text = str(error) or "there is no memory left"
        return ExecutionError(catalog.run_failed("out-of-memory", text, place, span))
    return ExecutionError(catalog.operator_failed(str(error), place, span))
