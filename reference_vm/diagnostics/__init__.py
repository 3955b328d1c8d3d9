"""What is wrong with a program: one constructor per code in `catalog`, and the errors."""

from reference_vm.diagnostics.diagnostic import (
    CompileError,
    DataError,
    Diagnostic,
    DiagnosticError,
    ExecutionError,
)

__all__ = ["CompileError", "DataError", "Diagnostic", "DiagnosticError", "ExecutionError"]
