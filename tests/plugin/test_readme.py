"""What the README says of its examples is so.

That they run is held by `tests.contract.test_pages_run`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_reference_runs_from_python(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    pytester.makepyfile(test_mine=BLOCKS[0])
    pytester.syspathinsert()

    exec(BLOCKS[2], {})

    printed = capsys.readouterr().out
    assert "copy copy sim:0" in printed
    assert "vdevice @host" in printed


def test_the_benchmark_gives_a_verdict(pytester: pytest.Pytester) -> None:
    faster = BLOCKS[1].replace('!= "slower"', 'in ("faster", "slower", "same", "ambiguous")')
    pytester.makepyfile(test_worth=BLOCKS[0] + faster)

    result = pytester.runpytest_subprocess("--devices=cpu,sim", "-k", "pays")

    result.assert_outcomes(passed=1, deselected=2)
