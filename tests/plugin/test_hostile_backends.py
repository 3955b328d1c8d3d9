"""What a backend raises is its crash under pytest too, and what makes no sense is wrong usage."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import PROGRAM, Run

HOSTILE = "--het-backend=tests.unit.hettest.hostile"
CHECK = f"""
import numpy as np
{PROGRAM}
def test_it(het, device_pair):
    het.check(PROGRAM, (np.ones(4, np.float32),) * 2, on=device_pair)
"""


@pytest.mark.parametrize("backend", ["ExitsInRun", "ExitsInCompile", "RaisesBaseException"])
def test_a_test_of_ones_own_crashes(pytester: pytest.Pytester, run: Run, backend: str) -> None:
    pytester.makepyfile(CHECK)

    result = run("--devices=cpu,sim", f"{HOSTILE}:{backend}")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["2 items: 0 passed, 0 failed, 2 crashed, *"])


def test_each_test_crashes_whose_devices_cannot_be_asked_for(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile("def test_it(device): pass\n")

    result = run("--devices=cpu,sim", f"{HOSTILE}:ExitsInDevices")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["2 items: 0 passed, 0 failed, 2 crashed, *", "*devices() raised SystemExit: 0"]
    )


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_crash_at_the_end_fails_the_run(
    pytester: pytest.Pytester, run: Run, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile("def test_it(device): pass\n")

    result = run("--devices=cpu", f"{HOSTILE}:ExitsInClose", *workers)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["crashed: *close() raised SystemExit: 0"])


def test_a_missing_device_of_the_map_is_not_run(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(device_map): pass\ndef test_other(device): pass\n")

    result = run("--devices=cpu", "--het-device-map=host=cpu,accel=cuda:0")

    assert result.ret == 6
    result.stdout.fnmatch_lines(["2 items: 1 passed, 0 failed, 0 crashed, 1 not run, *"])


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("device(5)", "*test_it.py::test_it*: the marker device takes texts *, found 5"),
        ("needs(5)", "*test_it.py::test_it*: the marker needs takes texts *, found 5"),
        ("device(kind='sim')", "*the marker device takes texts alone, found kind="),
    ],
)
def test_a_marker_with_something_else_is_wrong_usage(
    pytester: pytest.Pytester, run: Run, mark: str, message: str
) -> None:
    pytester.makepyfile(
        test_it=f"import pytest\n\n@pytest.mark.{mark}\ndef test_it(device): pass\n"
    )

    result = run("--devices=cpu")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize("path", ["folder.json", "file/x.json"])
def test_a_report_that_cannot_be_written_is_wrong_usage(
    pytester: pytest.Pytester, run: Run, path: str
) -> None:
    pytester.mkdir("folder.json")
    pytester.makefile("", file="")
    pytester.makepyfile("def test_it(device): raise SystemError('was run')\n")

    result = run("--devices=cpu", f"--het-report={path}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*the report {path} cannot be written: *"])
    result.stdout.no_fnmatch_line("*was run*")


def test_an_empty_map_is_wrong_usage(run: Run) -> None:
    result = run("--devices=cpu", "--het-device-map=")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*the device map binds no role*"])


NATIVE = pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest reads no such table")


@pytest.mark.parametrize(
    ("table", "value"),
    [
        ("tool.pytest.ini_options", '["cpu", "sim"]'),
        ("tool.pytest.ini_options", '"cpu,sim"'),
        ("tool.pytest.ini_options", '"cpu, sim"'),
        ("tool.pytest.ini_options", '"""\ncpu\nsim\n"""'),
        pytest.param("tool.pytest", '["cpu", "sim"]', marks=NATIVE),
    ],
)
def test_devices_in_pyproject_are_read(
    pytester: pytest.Pytester, run: Run, table: str, value: str
) -> None:
    pytester.makepyfile("def test_it(device): pass\n")
    pytester.makepyprojecttoml(f"[{table}]\nhet_devices = {value}\n")

    run().assert_outcomes(passed=2)


def test_devices_in_an_ini_file_may_be_lines(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(device): pass\n")
    pytester.makeini("[pytest]\nhet_devices =\n  cpu\n  sim\n")

    run().assert_outcomes(passed=2)


@NATIVE
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('het_devices = "cpu,sim"', "*het_devices*expects a list*cpu,sim*"),
        ("het_devices = true", "*het_devices*expects a list*True*"),
        ('het_devices = ["cpu", 5]', "*het_devices*expects a list*5*"),
        ("het_memory = [1]", "*het_memory*expects a string*1*"),
    ],
)
def test_other_types_of_a_native_table_are_refused_with_their_names(
    pytester: pytest.Pytester, run: Run, line: str, message: str
) -> None:
    pytester.makepyprojecttoml(f"[tool.pytest]\n{line}\n")

    result = run()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
