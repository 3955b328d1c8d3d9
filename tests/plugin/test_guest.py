"""The plugin in other people's suites: it changes nothing that it was not asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.plugin.conftest import Run

THEIR_FIXTURE = """
import pytest

@pytest.fixture(params=["left", "right"])
def device(request):
    return request.param
"""


def test_without_devices_nothing_is_parametrized_or_printed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass\n")

    result = pytester.runpytest()

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*hettest:*")
    result.stdout.no_fnmatch_line("*items:*")


def test_a_device_fixture_of_theirs_stays_theirs(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeconftest(THEIR_FIXTURE)
    pytester.makepyfile("def test_it(device): assert device in ('left', 'right')\n")

    pytester.runpytest().assert_outcomes(passed=2)
    run("--devices=cpu,sim,cuda").assert_outcomes(passed=2)


def test_a_test_parametrized_over_device_stays_theirs(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        "import pytest\n\n"
        "@pytest.mark.parametrize('device', ['a', 'b', 'c'])\n"
        "def test_it(device): assert device in 'abc'\n"
    )

    pytester.runpytest().assert_outcomes(passed=3)
    run("--devices=cpu,sim").assert_outcomes(passed=3)


def test_a_hook_of_theirs_that_parametrizes_device_is_heeded(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makeconftest(
        "def pytest_generate_tests(metafunc):\n"
        "    if 'device' in metafunc.fixturenames:\n"
        "        metafunc.parametrize('device', ['x', 'y'])\n"
    )
    pytester.makepyfile("def test_it(device): assert device in 'xy'\n")

    pytester.runpytest().assert_outcomes(passed=2)
    run("--devices=cpu,sim").assert_outcomes(passed=2)


def test_a_device_marker_of_theirs_deselects_nothing(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("import pytest\n\n@pytest.mark.device('toaster')\ndef test_it(): pass\n")

    run("--devices=cpu,sim").assert_outcomes(passed=1)


THEIR_OPTION = """
def pytest_addoption(parser):
    parser.addoption("--devices", default="none", help="theirs")
"""
READS_THEIRS = "def test_it(request): assert request.config.getoption('--devices') == {!r}\n"


def test_an_option_of_theirs_called_devices_stays_theirs(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(THEIR_OPTION)

    pytester.makepyfile(READS_THEIRS.format("none"))
    pytester.runpytest().assert_outcomes(passed=1)
    pytester.makepyfile(READS_THEIRS.format("a,b"))
    pytester.runpytest("--devices=a,b").assert_outcomes(passed=1)
    pytester.runpytest("--devices", "a,b").assert_outcomes(passed=1)
    pytester.runpytest("--devices=a,b", "-n1").assert_outcomes(passed=1)


def test_an_option_of_theirs_may_come_from_addopts(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(THEIR_OPTION)
    pytester.makeini("[pytest]\naddopts = --devices=a,b\n")
    pytester.makepyfile(READS_THEIRS.format("a,b"))

    pytester.runpytest().assert_outcomes(passed=1)


def test_an_option_of_theirs_with_other_settings_works_too(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "def pytest_addoption(parser):\n"
        "    group = parser.getgroup('lab')\n"
        "    group.addoption('--devices', action='store', type=int, dest='devices', default=1)\n"
    )
    pytester.makepyfile("def test_it(request): assert request.config.option.devices == 4\n")

    pytester.runpytest("--devices=4").assert_outcomes(passed=1)


def test_beside_theirs_ours_is_called_het_devices(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeconftest(THEIR_OPTION)
    pytester.makepyfile("def test_it(device): pass\n")

    run("--devices=a,b", "--het-devices=cpu,sim").assert_outcomes(passed=2)


def test_a_plugin_of_theirs_may_have_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(their_plugin=THEIR_OPTION)
    pytester.makepyfile(test_it=READS_THEIRS.format("a,b"))
    pytester.syspathinsert()

    pytester.runpytest("-p", "their_plugin", "--devices=a,b").assert_outcomes(passed=1)


def test_a_conftest_that_is_found_late_may_have_the_option(pytester: pytest.Pytester) -> None:
    pytester.mkpydir("deep")
    pytester.mkpydir("deep/er")
    (pytester.path / "deep/er/conftest.py").write_text(THEIR_OPTION)
    (pytester.path / "deep/er/test_it.py").write_text("def test_it(): pass\n")

    pytester.runpytest().assert_outcomes(passed=1)


def test_help_shows_the_option(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--help")

    result.stdout.fnmatch_lines(["*--het-devices=DEVICES*", "*--devices=DEVICES*"])


def test_strict_markers_and_warnings_as_errors_hold(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        "import pytest\n\n"
        "@pytest.mark.device('sim')\n"
        "@pytest.mark.needs('dtype:f32')\n"
        "def test_it(device): assert device.kind == 'sim'\n\n"
        "@pytest.mark.cpu_only\n"
        "def test_cpu(device): assert device.kind == 'cpu'\n"
    )

    result = run("--devices=cpu,sim", "--strict-markers", "-W", "error")

    result.assert_outcomes(passed=2, deselected=2)


def test_loading_the_plugin_imports_no_numpy_and_no_backend() -> None:
    code = (
        "import sys, hettest.plugin\n"
        "heavy = {'numpy', 'onnx', 'numba', 'llvmlite', 'jsonschema', 'typer', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)), 'reference_vm' in sys.modules)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[] False"


def test_collecting_with_devices_named_loads_no_backend(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import sys\n\n"
        "def pytest_unconfigure(config):\n"
        "    print('numpy' in sys.modules, 'reference_vm' in sys.modules)\n"
    )
    pytester.makepyfile("def test_it(device): pass\n")

    result = pytester.runpytest_subprocess("--devices=cpu,sim", "--co", "-q", "-s")

    result.stdout.fnmatch_lines(["False False"])
