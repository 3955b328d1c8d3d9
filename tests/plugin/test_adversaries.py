"""Backends whose values are right are told apart by what else they do, each by its own name."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import PROGRAM, Run

CHECK = f"""
import numpy as np
{PROGRAM}
def test_it(het, device_pair):
    het.check(PROGRAM, (np.ones(4, np.float32),) * 2, on=device_pair)
"""


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("drop_copy", "*no transfer brought it there: a missing copy, or a false report*"),
        ("copy_twice", "*copies failed: found 4, expected exactly 3*"),
        ("wrong_device", "*main/%t: found on cpu:0, expected on sim:0 (@accel)*"),
        (
            "falls_back",
            "*sim:0: 1 executions are reported, such as that of main/%t, but the meter*",
        ),
        ("leaks", "*memory failed: cpu:0: 0 bytes in use before the run, 16 after it*"),
    ],
)
def test_it_fails_by_its_own_name(
    pytester: pytest.Pytester, run: Run, backend: str, message: str
) -> None:
    pytester.makepyfile(CHECK)

    result = run("--devices=cpu,sim", backend=backend)

    assert result.ret == 1
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*values failed*")


def test_slow_and_right_passes(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(CHECK)

    run("--devices=cpu,sim", backend="slow").assert_outcomes(passed=2)
