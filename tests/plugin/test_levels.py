"""The summary tells levels where items of the corpus were run, and nowhere else."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Run


def test_a_few_items_of_the_corpus_are_not_judged(run: Run) -> None:
    part = ("--het-level=0", "-k", "nothing_to_do")

    result = run("--pyargs", "hettest.suite", "--devices=cpu,sim", *part)

    assert result.ret == 0
    result.stdout.fnmatch_lines(["core@1: not judged: only 1 of * items of L0 were selected"])
    result.stdout.no_fnmatch_line("dynamic@1*")
    result.stdout.no_fnmatch_line("covered:*")


def test_tests_of_ones_own_are_told_nothing_of_levels(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_it(device):\n    pass\n")

    result = run("--devices=cpu,sim", "--het-report=report.md")

    result.stdout.no_fnmatch_line("*core@1*")
    assert "core@1" not in (pytester.path / "report.md").read_text()
