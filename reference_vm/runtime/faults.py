"""Turning what went wrong in a run into one located diagnostic."""

from __future__ import annotations

from typing import Final

from reference_vm.bytecode.executable import ConstantSlot
from reference_vm.bytecode.instructions import Instruction, Site
from reference_vm.devices.faults import DeviceError
from reference_vm.diagnostics import DataError, ExecutionError, catalog
from reference_vm.source import Span

_TOO_LARGE: Final = ("array is too big", "Maximum allowed dimension", "Maximum allowed size")
"""How NumPy's words begin where an array would not fit any memory: its `ValueError` has no code."""

FAILURES: Final = (DataError, DeviceError, ArithmeticError, ValueError, IndexError, MemoryError)
"""What kernels and devices raise when a run fails. Anything else is a fault of the program that
this is, and passes through."""


def located(error: Exception, instruction: Instruction | None) -> ExecutionError:
    """Return the error that says where in the program ``error`` came from."""
    site: Site | None = getattr(instruction, "site", None)
    place = (site.op, site.defines[0] if site.defines else None) if site else (None, None)
    return _at(error, place, site.span if site else None)


def located_constant(error: Exception, slot: ConstantSlot) -> ExecutionError:
    """Return the error that a constant could not be loaded."""
    return _at(error, ("const", slot.value), slot.span)


def _at(
    error: Exception, place: tuple[str | None, str | None], span: Span | None
) -> ExecutionError:
    if isinstance(error, DataError):
        return ExecutionError(
            catalog.run_failed(error.code, error.message, place, span, error.help)
        )
    if isinstance(error, DeviceError):
        return ExecutionError(catalog.run_failed(error.code, str(error), place, span))
    if isinstance(error, MemoryError) or str(error).startswith(_TOO_LARGE):
        text = "there is no memory left for the result"
        return ExecutionError(catalog.run_failed("out-of-memory", text, place, span))
    return ExecutionError(catalog.operator_failed(_in_words(error), place, span))


def _in_words(error: Exception) -> str:
    """Return what an operator's own computation ended with, without Python's words for it."""
    if isinstance(error, ZeroDivisionError):
        return "a division by 0"
    if isinstance(error, OverflowError):
        return "a number is too large"
    return str(error)
