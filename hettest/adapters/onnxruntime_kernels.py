"""Kernels that onnxruntime's CPU provider says it does not have.

Each line takes an operator away for some dtypes of its first operand. The engine lists its kernels
in its own documentation (``docs/OperatorKernels.md``); what is not listed there is not claimed, and
the items that need it are unsupported by declaration. What is listed and goes wrong is a fault.
"""

from __future__ import annotations

from typing import Final

MISSING: Final[tuple[str, ...]] = ()
