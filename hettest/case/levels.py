"""What the level of a case promises about its program.

A level says what a backend must be able to do, so it must not ask for more than that: level 0 only
compiles, level 1 computes nothing, and level 3 leaves nothing to a planner.
"""

from __future__ import annotations

from typing import Final

from hettest.case import explicit, walk
from hettest.case.model import Case
from hettest.devicemap import Binding
from hettest.language import Module, nodes

MOVES: Final = frozenset({"identity", "to_vdevice", "device_copy"})
"""What a program of level 1 may call."""


def wrong_level(case: Case, module: Module, binding: Binding) -> str | None:
    """Return what the program asks for beyond its level under ``binding``, or ``None``."""
    if case.level == 0 and case.runs:
        return "a case of level 0 only compiles; one that runs is of level 1 or higher"
    if case.level == 1:
        return _computes(module)
    if case.level == 3 and case.runs and module.vdevices:
        return _left_open(case, module, binding)
    return None


def _computes(module: Module) -> str | None:
    calls = (b.value for f in module.functions for b in walk.bindings(f))
    computing = (c.op for c in calls if isinstance(c, nodes.Call) and c.op not in MOVES)
    op = next(computing, None)
    if op is None:
        return None
    return f"level 1 moves values and computes nothing, found {op}; operators begin at level 2"


def _left_open(case: Case, module: Module, binding: Binding) -> str | None:
    for run in case.runs:
        try:
            explicit.read(module.by_name[run.entry], binding)
        except explicit.NotExplicit as error:
            return f"level 3 leaves nothing to a planner, but {error}; planning is level 4"
    return None
