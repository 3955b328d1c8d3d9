"""Programs whose engine lives in a process of its own: compiled there, run there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from hettest.adapters.child import Child
from hettest.adapters.reading import HOST, Task
from hettest.backend.protocol import Mode, Observation, Options, Program, Rejected
from hettest.language import DiagnosticError

if TYPE_CHECKING:
    from hettest.backend.protocol import Value


@final
@dataclass(frozen=True)
class Executable:
    """A program of which the engine's process makes what it runs, once for each function."""

    child: Child
    task: Task

    def run(self, entry: str, args: Sequence[Value], mode: Mode = Mode.DIRECT) -> Observation:
        """Run a function.

        Raises:
            Rejected: The engine refuses the program, or ended the run with an error.
            EngineDied: The engine's process died.
        """
        task = _for_entry(self.task, entry)
        observation: Observation = self.child.ask("run", task, tuple(args))
        return observation


def compiled(
    child: Child, program: Program, device_map: Mapping[str, str], options: Options
) -> Executable:
    """Return ``program`` as the engine's process has it compiled.

    Raises:
        Rejected: The text is malformed, or the engine refuses the program.
        EngineDied: The engine's process died.
    """
    default = options.default or HOST
    task = Task(program.id, program.text, dict(device_map), options.policy, default, options.entry)
    _check(task)
    child.ask("compile", task)
    return Executable(child, task)


def _check(task: Task) -> None:
    try:
        known = task.module.by_name
    except DiagnosticError as error:
        first = error.diagnostics[0]
        line = first.span.line if first.span is not None else None
        raise Rejected("parse", first.code, line, str(error)) from error
    if task.entry not in known:
        raise Rejected("compile", None, None, f"the program has no function @{task.entry}")


def _for_entry(task: Task, entry: str) -> Task:
    if entry == task.entry:
        return task
    return Task(task.name, task.text, task.device_map, task.policy, task.default, entry)
