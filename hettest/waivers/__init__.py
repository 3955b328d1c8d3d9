"""Faults of a backend that are known: which items, which stage, why, whose, and until when.

A waiver turns a failure into the outcome *waived*. One that has expired, matches nothing, or whose
items pass by now is an error, so that the list stays true.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hettest.waivers.audit import problems
    from hettest.waivers.loader import load
    from hettest.waivers.model import Waiver, Waivers

__all__ = ["Waiver", "Waivers", "load", "problems"]

_HOME: Final = {"Waiver": "model", "Waivers": "model", "load": "loader", "problems": "audit"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
