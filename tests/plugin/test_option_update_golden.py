"""``--het-update-golden`` writes golden texts; without it they are only compared."""

from __future__ import annotations

import pytest

TEST = "def test_it(het_golden):\n    het_golden.check({text!r})\n"


def test_a_missing_golden_text_fails_and_names_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TEST.format(text="one\n"))

    result = pytester.runpytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*rerun with --het-update-golden to accept it"])
    assert not (pytester.path / "test_it.golden").exists()


def test_an_accepted_text_passes_until_it_changes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TEST.format(text="one\n"))
    pytester.runpytest("--het-update-golden").assert_outcomes(passed=1)
    pytester.runpytest().assert_outcomes(passed=1)

    pytester.makepyfile(test_it=TEST.format(text="two\n"))
    result = pytester.runpytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*-one", "E*+two"])
