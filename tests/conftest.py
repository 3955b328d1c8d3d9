"""What all tests share: no test is timed, each run tries the same examples, bytecode is checked.

A test that touches files outside of its own folder fails, and so does one that is skipped
unexpectedly: `tests.guards`.

No program is taken from the cache of programs: what is compiled here is compiled by the code at
hand, which a test may have changed.

``pytest --hypothesis-profile=explore`` draws other examples in each run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from reference_vm import compiler
from reference_vm.bytecode.memory_check import check_memory
from reference_vm.codegen.emit import emit
from reference_vm.jit.object_cache import PROGRAMS
from reference_vm.program.wellformed import check_bytecode
from tests.guards import file_access, skips

SLOW = [HealthCheck.too_slow]

LONG = 20_000
"""Instructions."""

settings.register_profile("explore", deadline=None, suppress_health_check=SLOW)
settings.register_profile("same", settings.get_profile("explore"), derandomize=True)
settings.load_profile("same")


KEPT: Final = ("PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX")
"""Of the variables that tell Python how to run: the others are not for the processes of tests.

Those start by the hundred, and what one of them has compiled, the next need not.
"""


def pytest_configure(config: pytest.Config) -> None:
    os.environ[PROGRAMS] = "off"
    for name in [n for n in os.environ if n.startswith("PYTHON") and n not in KEPT]:
        del os.environ[name]
    for guard in (file_access, skips):
        config.pluginmanager.register(guard)


@pytest.fixture(scope="session", autouse=True)
def _bytecode_is_checked() -> Iterator[None]:
    """Hold every program that a test compiles to what a saved one is held to, and to memory.

    Programs so long that this would take seconds are left out.
    """

    def checked(*args: Any, **options: Any) -> Any:
        code = emit(*args, **options)
        if sum(len(f.instructions) for f in code.executable.functions) <= LONG:
            check_bytecode(code.executable, code.primitives)
            check_memory(code.executable)
        return code

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "emit", checked)
        yield
