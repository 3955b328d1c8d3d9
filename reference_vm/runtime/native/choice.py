"""Whether a session runs the native loop."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from reference_vm.runtime.image import Image

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.runtime.native.executor import NativeExecutor


def without_native(target: str | None, interpreter: bool, proven: bool = True) -> tuple[str, ...]:
    """Return why a program is interpreted, in sentences; nothing if it runs natively.

    Args:
        target: Who makes the kernels, if that was chosen.
        interpreter: Whether the interpreter was asked for.
        proven: Whether tensors certainly are what the bytecode says of them.
    """
    if interpreter:
        return ("runs are interpreted, as was asked for",)
    if not proven:
        return ("runs are interpreted, since only a run can tell whether the program is sound",)
    if target == "numpy":
        return ("runs are interpreted, since NumPy's kernels are called from Python",)
    if importlib.util.find_spec("llvmlite") is None:
        how = "pip install 'hettest[numba]'"
        return (f"runs are interpreted, which is slower, since llvmlite is not installed: {how}",)
    return ()


def native_executor(image: Image, *, traced: bool, checked: bool) -> NativeExecutor:
    """Return the native form of a program."""
    from reference_vm.runtime.native.executor import NativeExecutor

    return NativeExecutor(image, traced=traced, checked=checked)
