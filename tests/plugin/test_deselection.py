"""However a run is narrowed, spread or shuffled, totals are the same; what is left out is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.plugin.conftest import FAKE, Run

TESTS = """
import pytest

def test_well(device): pass
def test_wrong(device): assert device.kind == "cpu", "only the cpu will do"
def test_pair(device_pair): pytest.skip("not today")
def test_far(accelerator): pass
"""
SHUFFLED = """
def pytest_collection_modifyitems(items):
    items.reverse()
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> None:
    """Tests that end in several ways."""
    pytester.makepyfile(test_it=TESTS)


def report(pytester: pytest.Pytester, run: Run, *args: str) -> dict[str, Any]:
    run("--devices=cpu,sim,cuda", "--het-report=r.json", *args)
    found: dict[str, Any] = json.loads((pytester.path / "r.json").read_text())
    return found


@pytest.mark.parametrize(
    "how",
    [("-n2",), ("-p", "no:cacheprovider"), ("-x", "--maxfail=99"), ("--import-mode=importlib",)],
)
def test_totals_are_the_same(
    pytester: pytest.Pytester, run: Run, suite: None, how: tuple[str, ...]
) -> None:
    plain, other = report(pytester, run), report(pytester, run, *how)

    assert plain["counts"] == other["counts"]
    assert plain["counts"] == {
        "passed": 4,
        "failed": 1,
        "crashed": 0,
        "not run": 7,
        "unsupported": 2,
        "waived": 0,
    }
    assert plain["deselected"] == other["deselected"] == {}


def test_the_order_does_not_matter(pytester: pytest.Pytester, run: Run, suite: None) -> None:
    plain = report(pytester, run)
    pytester.makeconftest(SHUFFLED)
    shuffled = report(pytester, run)

    assert plain["counts"] == shuffled["counts"]


@pytest.mark.parametrize(
    ("how", "left"),
    [
        (("-k", "well"), 11),
        (("-k", "well", "-n2"), 11),
        (("--deselect", "test_it.py::test_pair"), 6),
        (("-m", "needs"), 14),
    ],
)
def test_what_pytest_leaves_out_is_counted_and_said(
    pytester: pytest.Pytester,
    run: Run,
    suite: None,
    how: tuple[str, ...],
    left: int,
) -> None:
    found = report(pytester, run, *how)

    assert found["deselected"] == {"by pytest (-k, -m, --deselect, --lf, or a plugin)": left}
    assert found["selected"] == 14 - left


def test_what_lf_leaves_out_is_counted_and_said(pytester: pytest.Pytester, suite: None) -> None:
    chosen = ("--devices=cpu,sim", f"--het-backend={FAKE}:Backend")
    pytester.runpytest_inprocess(*chosen)

    result = pytester.runpytest_inprocess(*chosen, "--lf")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["1 item: 0 passed, 1 failed, *", "deselected: 6 by pytest (*--lf*)"]
    )


def test_what_the_kit_leaves_out_is_not_counted_twice(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(device): pass\ndef test_pair(device_pair): pass\n")

    result = run("--devices=cpu")
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["deselected: 1 need more devices than were named"])


@pytest.mark.parametrize("how", [("-x",), ("-x", "-n1")])
def test_a_run_that_is_cut_short_is_not_run_for_the_rest(
    pytester: pytest.Pytester, run: Run, suite: None, how: tuple[str, ...]
) -> None:
    found = report(pytester, run, *how)

    ends = [item["outcome"] for item in found["items"]]
    assert found["selected"] == len(ends) == 14
    assert ends.count("failed") == 1
    assert ends.count("not run") >= 9
    cut = [item for item in found["items"] if item["reason"].startswith("the run was cut short")]
    assert len(cut) >= 3


def test_what_a_conftest_takes_away_unsaid_is_counted_and_said(
    pytester: pytest.Pytester, run: Run, suite: None
) -> None:
    pytester.makeconftest("def pytest_collection_modifyitems(items): items[:] = items[:1]\n")

    result = run("--devices=cpu,sim,cuda")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["deselected: 13 removed during collection by a plugin *"])
