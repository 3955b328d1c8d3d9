"""What the tests of the plugin share: pytest as a user runs it, with the small fake backend.

The modules that a run needs are loaded here once: pytester forgets after each run what was loaded
during it.
"""

from __future__ import annotations

from collections.abc import Callable

import hypothesis  # noqa: F401 - loaded once, as said above
import pytest

import hettest.corpus  # noqa: F401 - loaded once, as said above
import tests.unit.hettest.fake_backend  # noqa: F401 - loaded once, as said above
from hettest.language import operators

operators()

FAKE = "tests.unit.hettest.fake_backend"

Run = Callable[..., pytest.RunResult]


@pytest.fixture(autouse=True)
def _without_others(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out a plugin that takes seconds to load; no inner run is a worker of the outer one.

    What pytest will take back in its next major version is an error.
    """
    removed = "-W error::pytest.PytestDeprecationWarning"
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-p no:hypothesispytest {removed}")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run pytest on the fake backend, all in this process."""
    usual = ("-p", "no:cacheprovider", "--het-no-isolate")

    def run_pytest(*args: str, backend: str = "Backend") -> pytest.RunResult:
        return pytester.runpytest_inprocess(f"--het-backend={FAKE}:{backend}", *usual, *args)

    return run_pytest


PROGRAM = """
PROGRAM = '''
module {
  vdevice @host, @accel
  fn @main(%a: f32[4], %b: f32[4]) -> f32[4] @host {
    %s = add(%a, %b)       @host
    %t = multiply(%a, %b)  @accel
    %d = subtract(%s, %t)  @host
    return %d
  }
}
'''
"""
