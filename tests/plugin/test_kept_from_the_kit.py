"""A conformance item ends by the kit's own record; what others keep from the kit is not run."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import Run

CHOSEN = ("--pyargs", "hettest.suite", "--devices=cpu,sim", "-k", "placement/shared_input[plain")
MARKS = """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.{mark})
"""
HOOK = """
import pytest

@pytest.hookimpl(tryfirst=True)
def {hook}:
    {body}
"""


@pytest.mark.parametrize(
    ("conftest", "reason"),
    [
        (
            HOOK.format(hook="pytest_pyfunc_call(pyfuncitem)", body="return True"),
            "its test was not executed by the kit",
        ),
        (MARKS.format(mark="skip(reason='nope')"), "skipped by a mark: nope"),
        (MARKS.format(mark="xfail(run=False, reason='nope')"), "skipped by a mark xfail: "),
        (
            HOOK.format(hook="pytest_runtest_call(item)", body="pytest.skip('later')"),
            "skipped by a plugin or a conftest: later",
        ),
    ],
)
def test_what_the_kit_did_not_run_is_not_run(
    pytester: pytest.Pytester, run: Run, conftest: str, reason: str
) -> None:
    pytester.makepyfile(strange=conftest)
    pytester.syspathinsert()

    result = run("-p", "strange", *CHOSEN, "--het-report=r.json")

    assert result.ret == 6
    found = json.loads((pytester.path / "r.json").read_text())
    assert {item["outcome"] for item in found["items"]} == {"not run"}
    assert all(item["reason"].startswith(reason) for item in found["items"]), found["items"]


def test_a_mark_of_others_waives_no_failure(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(strange=MARKS.format(mark="xfail(reason='nope')"))
    pytester.syspathinsert()

    result = run("-p", "strange", *CHOSEN, backend="copy_twice")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["* items: 0 passed, * failed, *, 0 waived"])


def test_a_test_of_ones_own_may_skip_itself(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("import pytest\n\n@pytest.mark.skip\ndef test_it(device): pass\n")

    result = run("--devices=cpu")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 item: *, 1 unsupported, *"])
