"""``--het-backend`` chooses the implementation under test."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run

TEST = "def test_it(device): pass\n"


def test_an_unknown_name_is_told_with_those_that_are_installed(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(TEST)

    result = pytester.runpytest("--devices=cpu", "--het-backend=nobody")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*found no backend nobody; installed are *reference_vm*"])


def test_a_module_that_cannot_be_imported_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)

    result = pytester.runpytest("--devices=cpu", "--het-backend=no.such.module:Backend")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*cannot be loaded: No module named 'no'; *PYTHONPATH=.*"])


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_run_without_a_backend_is_one_error_and_not_one_for_each_test(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(TEST)

    result = pytester.runpytest("--devices=cpu,sim,sim:1", "--het-backend=nobody", *workers)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = result.stdout.str() + result.stderr.str()
    assert told.count("found no backend nobody") == 1


def test_without_devices_the_backend_is_not_loaded(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(het_golden): pass\n")

    pytester.runpytest("--het-backend=nobody").assert_outcomes(passed=1)


def test_a_word_that_the_backend_does_not_claim_makes_a_test_unsupported(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        "import pytest\n\n@pytest.mark.needs('mode:rpc')\ndef test_it(device): assert False\n"
    )

    result = run("--devices=cpu")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["1 item: 0 passed, *1 unsupported, *", "*test_it[[]cpu:0[]]: not claimed: mode:rpc"]
    )


def test_the_ini_file_may_choose_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(device): assert device.backend.name == 'fake'\n")
    pytester.makeini("[pytest]\nhet_backend = tests.unit.hettest.fake_backend:Backend\n")

    pytester.runpytest("--devices=cpu").assert_outcomes(passed=1)


def test_options_in_its_name_reach_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(device): assert device.backend.name == 'other'\n")
    named = "tests.unit.hettest.fake_backend:Backend:name=other"

    pytester.runpytest("--devices=cpu", f"--het-backend={named}").assert_outcomes(passed=1)


def test_an_option_that_it_does_not_have_is_wrong_usage(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    named = "tests.unit.hettest.fake_backend:Backend:nam=other"

    result = pytester.runpytest("--devices=cpu", f"--het-backend={named}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*has no option nam; its options are *name*; did you mean name?"])
