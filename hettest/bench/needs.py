"""Says what is not installed of what benchmarks need, and how to install it."""

from __future__ import annotations

from importlib.util import find_spec

from hettest.errors import UsageError


def require(what: str, *modules: str, extra: str = "bench") -> None:
    """Return if all modules are installed.

    Raises:
        UsageError: One is not; names it, and the extra that brings it.
    """
    lacking = [module for module in modules if find_spec(module) is None]
    if lacking:
        listed = " and ".join(lacking)
        raise UsageError(f"{what} needs {listed}: pip install 'hettest[{extra}]'")
