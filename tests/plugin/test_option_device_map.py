"""``--het-device-map`` binds roles by name."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run


def test_the_fixture_shows_it(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        "def test_it(device_map):\n    assert device_map == {'host': 'cpu:0', 'accel': 'sim:1'}\n"
    )

    run("--devices=cpu,sim", "--het-device-map=host=cpu,accel=sim:1").assert_outcomes(passed=1)


def test_without_it_the_roles_are_host_and_accel(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        "def test_it(device_map):\n    assert device_map == {'host': 'cpu:0', 'accel': 'sim:0'}\n"
    )

    run("--devices=cpu,sim").assert_outcomes(passed=1)


def test_conformance_items_are_bound_by_it(run: Run) -> None:
    result = run(
        *("--pyargs", "hettest.suite", "--devices=cpu,sim", "-v", "-k", "placement/shared_input["),
        "--het-device-map=host=cpu,accel=sim:1",
    )

    result.stdout.fnmatch_lines(["*shared_input[[]plain,host=cpu:0,accel=sim:1,policy=copy[]]*"])
    result.stdout.no_fnmatch_line("*accel=sim:0*")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accel", "*found 'accel', expected role=device such as accel=sim:0"),
        ("a=cpu,a=sim", "*role a is bound twice*"),
    ],
)
def test_a_wrong_map_is_a_usage_error(
    pytester: pytest.Pytester, run: Run, text: str, message: str
) -> None:
    result = run("--devices=cpu", f"--het-device-map={text}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
