"""``--het-policy`` says what becomes of items whose device is missing."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run
from tests.unit.hettest.fake_backend import MISSING

TEST = "def test_it(device): pass\n"


def test_by_default_they_are_not_run_and_the_exit_code_is_six(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,cuda")

    result.assert_outcomes(passed=1, skipped=1)
    assert result.ret == 6
    result.stdout.fnmatch_lines(
        [
            "2 items: 1 passed, 0 failed, 0 crashed, 1 not run, 0 unsupported, 0 waived",
            "not run (1):",
            f"*test_it[[]cuda:0[]]: missing device cuda:0: {MISSING}",
            "incomplete: exit code 6*",
        ]
    )


def test_a_device_that_no_one_knows_is_missing_too(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,npu:3")

    assert result.ret == 6
    result.stdout.fnmatch_lines(["*fake has no device npu:3; it has cpu:0 to 1, *"])


def test_fail_makes_them_fail(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,cuda", "--het-policy=fail")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["2 items: 1 passed, 1 failed, *", f"*{MISSING}"])


def test_skip_prints_them_and_exits_with_zero(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,cuda", "--het-policy=skip")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["2 items: 1 passed, *; 1 skipped and not counted", f"*test_it[[]cuda:0[]]*{MISSING}"]
    )


def test_a_failure_outranks_what_was_not_run(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(device): assert device.kind != 'cpu'\n")

    assert run("--devices=cpu,cuda").ret == 1


def test_what_was_cut_short_is_not_run(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(device): assert False\n")

    result = run("--devices=cpu,sim,sim:1", "-x")

    result.stdout.fnmatch_lines(["3 items: 0 passed, 1 failed, 0 crashed, 2 not run, *"])
    result.stdout.fnmatch_lines(["*the run was cut short: stopping after 1 failures"])


def test_the_ini_file_may_say_it(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)
    pytester.makeini("[pytest]\nhet_policy = skip\n")

    assert run("--devices=cpu,cuda").ret == 0


def test_another_word_in_the_ini_file_is_a_usage_error(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeini("[pytest]\nhet_policy = ignore\n")

    result = run("--devices=cpu")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*het_policy is ignore, expected one of incomplete, fail, skip"])
