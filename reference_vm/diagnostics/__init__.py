"""What is wrong with a program: one constructor per code in `catalog`, and the errors."""

from reference_vm.diagnostics.diagnostic import (
    CompileError,
    Diagnostic,
    DiagnosticError,
    ExecutionError,
)

__all__ = ["CompileError", "Diagnostic", "DiagnosticError", "ExecutionError"]
