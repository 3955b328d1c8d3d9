"""``--het-isolate`` runs conformance items in a process of their own, whose death is an outcome."""

from __future__ import annotations

import json

import pytest

MOODY = "--het-backend=tests.unit.hettest.moody"
CHOSEN = ("--pyargs", "hettest.suite", "--devices=cpu,sim", "-k", "placement/shared or ops/relu/fl")


@pytest.mark.parametrize("how", [(), ("-n2",)])
def test_a_process_that_ends_takes_one_item_with_it(
    pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    result = pytester.runpytest_inprocess(
        *CHOSEN, f"{MOODY}:DiesOnSharedInput", "--het-report=r.json", *how
    )

    report = json.loads((pytester.path / "r.json").read_text())
    crashed = [i for i in report["items"] if i["outcome"] == "crashed"]
    others = [i for i in report["items"] if i["outcome"] == "passed"]
    assert result.ret == 1
    assert {i["case"] for i in crashed} == {"placement/shared_input"}
    assert len(crashed) == report["counts"]["crashed"] >= 2
    assert len(others) == len(report["items"]) - len(crashed) >= 3
    assert all("exit code 0 during: compile for" in item["reason"] for item in crashed)
    result.stdout.fnmatch_lines(["*its process ended itself with exit code 0 during: *"])


def test_tests_of_ones_own_stay_in_this_process(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import os\nHERE = os.getpid()\n\n"
        "def test_it(het):\n    assert het.backend.process == HERE\n"
    )

    result = pytester.runpytest_inprocess("--devices=cpu", f"{MOODY}:InProcess", "--het-isolate")

    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--het-timeout=0", "found a time limit of 0, expected seconds above 0"),
        ("--het-timeout=soon", "found a time limit of soon, expected seconds above 0"),
        ("--het-memory=much", "found a memory limit of much, expected a size such as 2GiB"),
        ("--het-batch=-1", "--het-batch=-1: expected a number"),
        ("--het-seed=x", "--het-seed=x: expected a number"),
        ("--het-device-wait=-2", "found a time limit of -2"),
        ("--het-waivers=no-such.toml", "no-such.toml: the waivers cannot be read"),
        ("--het-lock=no-such.lock", "no-such.lock: the list of items cannot be read"),
    ],
)
def test_a_wrong_value_is_wrong_usage(pytester: pytest.Pytester, option: str, message: str) -> None:
    pytester.makepyfile("def test_it(device): raise SystemError('was run')\n")

    result = pytester.runpytest_inprocess("--devices=cpu", option)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])
    result.stdout.no_fnmatch_line("*was run*")
