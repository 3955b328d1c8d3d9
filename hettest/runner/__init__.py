"""Runs one item on one backend and says how it ended."""

from hettest.runner.program import ModuleProgram, TextProgram
from hettest.runner.run import run_item, unjudged

__all__ = ["ModuleProgram", "TextProgram", "run_item", "unjudged"]
