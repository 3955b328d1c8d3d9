"""Runs one item on one backend and says how it ended; its names are loaded when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hettest.runner.program import ModuleProgram, TextProgram
    from hettest.runner.run import run_item, unjudged

__all__ = ["ModuleProgram", "TextProgram", "run_item", "unjudged"]

_HOME: Final = {
    "ModuleProgram": "hettest.runner.program",
    "TextProgram": "hettest.runner.program",
    "run_item": "hettest.runner.run",
    "unjudged": "hettest.runner.run",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
