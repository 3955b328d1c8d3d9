"""A language for placed tensor programs, its compiler, and a virtual machine of several devices.

    import reference_vm as rv

    module  = rv.parse(text)                               # or rv.from_onnx("model.onnx")
    program = rv.compile(module, device_map="host=cpu:0,accel=sim:0")
    session = rv.Session(program)
    result  = session.run("main", a, b, c)                 # NumPy in, NumPy out
    session.trace                                          # what the run did, record by record

The names here are loaded when they are first used: ``import reference_vm.text`` loads neither
NumPy nor the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reference_vm.compiler import compile, explain  # noqa: A004 - rv.compile is the name
    from reference_vm.diagnostics import CompileError, Diagnostic, ExecutionError
    from reference_vm.exchange import from_onnx
    from reference_vm.ir.nodes import Module
    from reference_vm.program.loading import load
    from reference_vm.program.program import Program
    from reference_vm.runtime.trace import Record, Trace
    from reference_vm.session import Session
    from reference_vm.text import parse, print_module

_HOME: Final = {
    "CompileError": "reference_vm.diagnostics",
    "Diagnostic": "reference_vm.diagnostics",
    "ExecutionError": "reference_vm.diagnostics",
    "Module": "reference_vm.ir.nodes",
    "Program": "reference_vm.program.program",
    "Record": "reference_vm.runtime.trace",
    "Session": "reference_vm.session",
    "Trace": "reference_vm.runtime.trace",
    "compile": "reference_vm.compiler",
    "explain": "reference_vm.compiler",
    "from_onnx": "reference_vm.exchange",
    "load": "reference_vm.program.loading",
    "parse": "reference_vm.text",
    "print_module": "reference_vm.text",
}

__all__ = [
    "CompileError",
    "Diagnostic",
    "ExecutionError",
    "Module",
    "Program",
    "Record",
    "Session",
    "Trace",
    "compile",
    "explain",
    "from_onnx",
    "load",
    "parse",
    "print_module",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
