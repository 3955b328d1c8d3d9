"""The README's examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_first_test_passes_on_every_ordered_pair(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=BLOCKS[0])

    result = pytester.runpytest_subprocess("--devices=cpu,sim")

    result.assert_outcomes(passed=2)


def test_asking_for_fewer_copies_fails_and_says_how_to_repeat_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=BLOCKS[0].replace("report.copies <= 2", "report.copies <= 1"))

    result = pytester.runpytest_subprocess("--devices=cpu,sim")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*2 copies*main/%b*cpu:0 -> sim:0*", "pytest 'test_mine.py::*"])


def test_a_missing_device_makes_the_run_incomplete(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=BLOCKS[0])

    result = pytester.runpytest_subprocess("--devices=cpu,cuda:7")

    assert result.ret == 6
    result.stdout.fnmatch_lines(["not run (2):", "*missing device cuda:7: *"])


def test_the_reference_runs_from_python(capsys: pytest.CaptureFixture[str]) -> None:
    program = re.search(r'PROGRAM = """(.*?)"""', BLOCKS[0], re.DOTALL)
    assert program is not None

    exec(BLOCKS[2], {"PROGRAM": program[1]})

    printed = capsys.readouterr().out
    assert "copy copy sim:0" in printed
    assert "vdevice @host" in printed


def test_the_benchmark_gives_a_verdict(pytester: pytest.Pytester) -> None:
    faster = BLOCKS[1].replace('!= "slower"', 'in ("faster", "slower", "same", "ambiguous")')
    pytester.makepyfile(test_worth=BLOCKS[0] + faster)

    result = pytester.runpytest_subprocess("--devices=cpu,sim", "-k", "pays")

    result.assert_outcomes(passed=1, deselected=2)
