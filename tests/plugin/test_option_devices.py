"""``--devices`` (also ``--het-devices``) names the devices; the kit's fixtures go over them."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run

TEST = "def test_it(device):\n    assert device.name == str(device)\n"


def test_a_test_runs_once_for_each_named_device(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,sim:1", "-v")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_it[[]cpu:0[]]*", "*test_it[[]sim:1[]]*"])
    result.stdout.fnmatch_lines(["2 items: 2 passed, 0 failed, *"])


@pytest.mark.parametrize("option", ["--devices", "--het-devices"])
def test_the_value_may_follow_after_a_space(
    pytester: pytest.Pytester, run: Run, option: str
) -> None:
    pytester.makepyfile(TEST)

    run(option, "cpu,sim").assert_outcomes(passed=2)


def test_the_ini_file_may_name_them(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)
    pytester.makeini("[pytest]\nhet_devices = cpu,sim\n")

    run().assert_outcomes(passed=2)


def test_addopts_may_name_them(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)
    pytester.makeini("[pytest]\naddopts = --devices=cpu,sim,sim:1\n")

    run().assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ("", "*--devices names no device*"),
        (",", "*--devices names no device*"),
        ("sim,cpu", "*the first device is the host and must be of kind cpu*"),
        ("cpu,sim,sim:0", "*names sim:0 twice*"),
        ("cpu,S!m", "*expected a device such as cpu, sim:1*"),
    ],
)
def test_a_wrong_list_is_a_usage_error(
    pytester: pytest.Pytester, run: Run, devices: str, message: str
) -> None:
    pytester.makepyfile(TEST)

    result = run(f"--devices={devices}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_pairs_are_ordered_and_distinct(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        "def test_it(device_pair):\n"
        "    one, other = device_pair\n"
        "    assert str(one) != str(other)\n"
    )

    result = run("--devices=cpu,sim", "-v")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*[[]cpu:0-sim:0[]]*", "*[[]sim:0-cpu:0[]]*"])


def test_accelerators_are_those_that_are_no_cpu(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(accelerator):\n    assert accelerator.kind == 'sim'\n")

    run("--devices=cpu,cpu:1,sim,sim:1").assert_outcomes(passed=2)


def test_a_pair_of_one_device_is_deselected_aloud(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(device_pair): pass\ndef test_other(device): pass\n")

    result = run("--devices=cpu")

    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["deselected: 1 need more devices than were named"])


def test_without_devices_a_test_that_takes_one_says_what_to_do(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(TEST)

    result = run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["the fixture device needs devices to be named: pytest --devices=*"]
    )


def test_workers_report_the_same_counts(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST + "def test_pair(device_pair): pass\n")

    alone = run("--devices=cpu,sim,cuda")
    spread = run("--devices=cpu,sim,cuda", "-n2")

    line = "9 items: 4 passed, 0 failed, 0 crashed, 5 not run, 0 unsupported, 0 waived"
    alone.stdout.fnmatch_lines([line])
    spread.stdout.fnmatch_lines([line])
    assert alone.ret == spread.ret == 6


@pytest.mark.parametrize("kind", ["simm", "smi"])
def test_a_mistyped_kind_is_one_usage_error(kind: str, pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run(f"--devices=cpu,{kind}:1")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*fake has no device {kind}:1; did you mean sim:1[?]"])


def test_what_others_leave_out_is_not_counted(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_pair(device_pair): pass\ndef test_one(device): pass\n")

    result = run("--devices=cpu", "-k", "test_one")

    result.stdout.no_fnmatch_line("deselected: *need more devices*")


def test_a_run_of_which_nothing_is_left_says_so(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(device_pair): pass\n")

    result = run("--devices=cpu")

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["0 items: *", "deselected: 1 need more devices than were named"])


def test_every_fixture_of_the_kit_counts(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        "def test_golden(het_golden): pass\n"
        "def test_map(device_map): pass\n"
        "def test_het(het): pass\n"
    )

    run("--devices=cpu").stdout.fnmatch_lines(["3 items: 3 passed, *"])
