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

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*found no backend nobody; installed are *reference_vm*"])


def test_a_module_that_cannot_be_imported_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)

    result = pytester.runpytest("--devices=cpu", "--het-backend=no.such.module:Backend")

    result.stdout.fnmatch_lines(["*cannot be loaded: No module named 'no'*"])


def test_a_word_that_the_backend_does_not_claim_makes_a_test_unsupported(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        "import pytest\n\n@pytest.mark.needs('mode:rpc')\ndef test_it(device): assert False\n"
    )

    result = run("--devices=cpu")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["1 items: 0 passed, *1 unsupported, *", "*test_it[[]cpu:0[]]: not claimed: mode:rpc"]
    )


def test_the_ini_file_may_choose_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(device): assert device.backend.name == 'fake'\n")
    pytester.makeini("[pytest]\nhet_backend = tests.unit.hettest.fake_backend:Backend\n")

    pytester.runpytest("--devices=cpu").assert_outcomes(passed=1)
