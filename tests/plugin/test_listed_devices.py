"""A backend that lists devices that cannot be told apart is named as the one at fault."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import FAKE, Run

BACKEND = f"""
from hettest.backend import DeviceInfo
from {FAKE} import Backend as Fake

class Odd(Fake):
    def devices(self):
        return [*super().devices(), {{extra}}]
"""
FAULTS = [
    (
        "DeviceInfo(None, None, None)",
        "backend fake lists devices wrongly: a device is called None,",
    ),
    (
        "DeviceInfo('NPU', 'npu', 0)",
        "backend fake lists devices wrongly: a device is called 'NPU',",
    ),
    ("'npu:0'", "backend fake lists 'npu:0', expected DeviceInfo"),
    ("DeviceInfo('cpu:0', 'cpu', 0)", "cpu:0 is listed 2 times, expected once"),
    ("DeviceInfo('cpu', 'cpu', 0)", "cpu:0 is listed 2 times, expected once"),
]


@pytest.mark.parametrize(("extra", "message"), FAULTS)
@pytest.mark.parametrize("tests", ["own", "suite"])
def test_its_backend_is_named(
    pytester: pytest.Pytester, run: Run, extra: str, message: str, tests: str
) -> None:
    pytester.makepyfile(odd=BACKEND.format(extra=extra))
    pytester.makepyfile(test_it="def test_it(device): pass\n")
    pytester.syspathinsert()
    chosen = ("--pyargs", "hettest.suite", "-k", "abs") if tests == "suite" else ("test_it.py",)

    result = run("--devices=cpu", "--het-backend=odd:Odd", *chosen)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])
