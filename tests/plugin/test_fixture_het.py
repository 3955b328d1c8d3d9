"""The fixtures ``het`` and ``device`` in tests of one's own."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import PROGRAM, Run

TEST = (
    "import numpy as np\n"
    + PROGRAM
    + """
A = np.arange(4, dtype=np.float32)

def test_it(het, device_pair):
    report = het.check(PROGRAM, (A, A), on=device_pair)
    assert report.copies <= 3
"""
)


def test_a_right_program_passes_on_each_pair(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    run("--devices=cpu,sim,sim:1").assert_outcomes(passed=6)


def test_a_failure_is_located_and_short(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,sim", backend="wrong_device")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "E*HetFailure: program on host=cpu:0,accel=sim:0",
            "E*placement failed: main/%t: found on cpu:0, expected on sim:0 (@accel)",
            "E*executed:",
            "E*multiply -> main/%t on cpu:0",
            "pytest '*::test_it[[]cpu:0-sim:0[]]' * --het-devices=cpu:0,sim:0 --het-backend=*",
            "2 items: 0 passed, 2 failed, *",
        ]
    )
    result.stdout.no_fnmatch_line("*het.py:*")


def test_devices_may_be_named_in_the_test(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        TEST.replace("het, device_pair", "het").replace("device_pair", '"host=cpu:0,accel=sim:0"')
    )

    run().assert_outcomes(passed=1)


def test_a_pair_with_a_missing_device_is_not_run(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,sim,cuda")

    assert result.ret == 6
    result.stdout.fnmatch_lines(["6 items: 2 passed, 0 failed, 0 crashed, 4 not run, *"])


def test_a_device_of_the_reference_holds_arrays(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import numpy as np

        def test_it(device):
            x = np.arange(6, dtype=np.float32).reshape(2, 3)
            buffer = device.put(x)
            device.synchronize()
            np.testing.assert_array_equal(device.get(buffer), x)
        """
    )

    pytester.runpytest("--devices=cpu,sim", "--het-backend=reference_vm").assert_outcomes(passed=2)


def test_a_refused_program_is_listed_with_its_diagnostic(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(test_it=TEST.replace("%d = ", "%d "))

    result = run("--devices=cpu,sim", "-rf")

    result.stdout.fnmatch_lines(
        [
            "failed (2):",
            "  *::test_it[[]cpu:0-sim:0[]]: error[[]syntax-error[]]: found *",
            "FAILED *::test_it[[]cpu:0-sim:0[]] - error[[]syntax*",
        ]
    )
    result.stdout.no_fnmatch_line("*hettest/runner/*")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(A, A)", "(A,)", "*UsageError: found 1 arguments; @main takes %a, %b"),
        ("on=device_pair", "on='nowhere!'", "*UsageError: found 'nowhere!', expected a device*"),
        ("on=device_pair", "on='cpu,npu'", "*UsageError: found device npu:0, but fake has *"),
        ("check(PROGRAM", "check('missing.onnx'", "*UsageError: found no file missing.onnx"),
    ],
)
def test_wrong_usage_shows_the_test_and_not_the_kit(
    pytester: pytest.Pytester, run: Run, old: str, new: str, message: str
) -> None:
    pytester.makepyfile(TEST.replace(old, new))

    result = run("--devices=cpu,sim")

    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*hettest/*.py:*")
    result.stdout.no_fnmatch_line("*devicemap.py:*")
