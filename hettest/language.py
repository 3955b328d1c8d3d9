"""The one door from the kit to the language and its oracle.

Nothing else of `hettest` (adapters, fuzz and debug apart) imports `reference_vm`, and this module
imports only what defines the language: never the compiler or a runtime.
"""

from __future__ import annotations

from reference_vm.ir.nodes import Module
from reference_vm.oracle import evaluate as oracle
from reference_vm.oracle.estimate import Estimate
from reference_vm.oracle.estimate import Result as OracleResult
from reference_vm.source import Span
from reference_vm.types.arrays import to_numpy

__all__ = ["Estimate", "Module", "OracleResult", "Span", "oracle", "to_numpy"]
