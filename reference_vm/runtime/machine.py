"""The interpreter: runs prepared functions, frame by frame.

It owns no memory and knows no device. Whatever ends a run, all that the run allocated is given
back, and what went wrong is one located diagnostic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import Instruction
from reference_vm.diagnostics import ExecutionError, catalog
from reference_vm.runtime.arguments import place_arguments
from reference_vm.runtime.faults import FAILURES, located
from reference_vm.runtime.frames import Frame, Run, enter
from reference_vm.runtime.image import Image
from reference_vm.runtime.results import deliver
from reference_vm.runtime.symbols import BindError, bind_symbols


class Observer(Protocol):
    """Is told of every instruction, before and after."""

    def before(self, instruction: Instruction, frame: Frame) -> None: ...

    def after(self, instruction: Instruction, frame: Frame) -> None: ...


def run_function(
    image: Image, code: FunctionCode, args: Sequence[Any], run: Run, observer: Observer | None
) -> Any:
    """Run a function on NumPy arguments; return NumPy results.

    Raises:
        ExecutionError: An argument does not fit, or the run failed.
    """
    check_count(code, args)
    function = image.functions[image.executable.indices[code.name]]
    try:
        with np.errstate(all="ignore"):
            values = place_arguments(image, code.params, args, run)
            symbols = bind_symbols(code, values, image.executable.data_types)
            run.stack.append(enter(function, values, symbols, run))
            if observer is None:
                _execute(run)
            else:
                _execute_observed(run, observer)
            return deliver(run.result, run, image.executable.data_types)
    except BindError as error:
        if run.stack:  # of a call inside
            raise located(error, _instruction(run)) from error
        raise argument_error(error, code) from None
    except FAILURES as error:
        raise located(error, _instruction(run)) from error
    finally:
        run.result = None
        run.stack.clear()
        run.close()


def argument_error(error: BindError, code: FunctionCode) -> ExecutionError:
    """Return the error that an argument does not fit its parameter."""
    span = error.parameter.span
    return ExecutionError(catalog.bad_argument(error.code, error.message, code.name, span))


def check_count(code: FunctionCode, args: Sequence[Any]) -> None:
    """Raise `ExecutionError` unless there is an argument for each parameter."""
    if len(args) != len(code.params):
        names = tuple(p.name for p in code.params)
        raise ExecutionError(catalog.argument_count(code.name, len(args), names))


def _instruction(run: Run) -> Instruction | None:
    """Return the instruction that was running."""
    if not run.stack:
        return None
    frame = run.stack[-1]
    return frame.function.code.instructions[frame.pc]


def _execute(run: Run) -> None:
    stack = run.stack
    while stack:
        frame = stack[-1]
        steps, pc = frame.steps, frame.pc
        jump: int | None = None
        while jump is None or jump >= 0:
            frame.pc = pc
            jump = steps[pc](frame)
            pc = pc + 1 if jump is None else jump


def _execute_observed(run: Run, observer: Observer) -> None:
    stack = run.stack
    while stack:
        frame = stack[-1]
        instruction = frame.function.code.instructions[frame.pc]
        observer.before(instruction, frame)
        jump = frame.steps[frame.pc](frame)
        if jump is None:
            observer.after(instruction, frame)
            frame.pc += 1
        elif jump >= 0:
            frame.pc = jump
