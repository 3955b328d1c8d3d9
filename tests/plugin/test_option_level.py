"""``--het-level`` keeps to conformance cases up to a level."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run

SUITE = ("--pyargs", "hettest.suite", "--devices=cpu,sim", "--co", "-q")


def test_cases_above_it_are_left_out(run: Run) -> None:
    result = run(*SUITE, "--het-level=2")

    result.stdout.fnmatch_lines(["*[[]ops/*"])
    result.stdout.no_fnmatch_line("*placement/shared_input*")


def test_what_was_left_out_is_said(run: Run) -> None:
    result = run(*SUITE[:-2], "-k", "ops/abs/", "--het-level=2")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["* above level 2", "* by pytest (-k, *"])


def test_another_number_is_a_usage_error(run: Run) -> None:
    assert run(*SUITE, "--het-level=7").ret == pytest.ExitCode.USAGE_ERROR
