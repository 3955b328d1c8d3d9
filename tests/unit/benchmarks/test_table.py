"""The table of all benchmarks is complete, and says what each script found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

import benchmarks
from benchmarks import __main__ as bench
from benchmarks import peers, rows
from benchmarks.figures import FILE, Figure, figure, noted

HERE = Path(benchmarks.__path__[0])
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "benchmarks.md"


def runnable() -> set[str]:
    """Return what ``python -m benchmarks.NAME`` runs, without what a script only uses."""
    modules = [path for path in HERE.glob("*.py") if "__main__" in path.read_text()]
    folders = [path for path in HERE.iterdir() if (path / "__init__.py").exists()]
    return {path.stem for path in (*modules, *folders)} - {"__main__", "timing_series"}


def test_every_script_is_in_the_table_or_left_out_for_a_reason() -> None:
    assert {*bench.SCRIPTS, *bench.ELSEWHERE, *peers.SCRIPTS} == runnable()
    assert not set(bench.SCRIPTS) & set(bench.ELSEWHERE)


def test_every_script_is_on_the_page() -> None:
    text = PAGE.read_text()

    assert [name for name in bench.SCRIPTS if f"| `{name}` |" not in text] == []


Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """Make a script that can be run as one of the benchmarks; return its name."""
    package = tmp_path / "benchmarks"
    package.mkdir()
    (package / "__init__.py").write_text(f"__path__.append({str(HERE)!r})")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def make(body: str) -> str:
        (package / "made.py").write_text(
            f"import sys\nfrom benchmarks.figures import figure\n{body}\n"
        )
        return "made"

    return make


@pytest.mark.parametrize(
    ("body", "problem", "code"),
    [
        ("figure('rate', 200, '/s', least=100)", "", 0),
        ("figure('time', 2, ' s', most=1); sys.exit(1)", "", 1),
        ("figure('time', 1, ' s', most=2); sys.exit(3)", "exit code 3", 1),
        ("sys.exit(0)", "exit code 0, no figures", 1),
    ],
    ids=["kept", "missed", "failed", "silent"],
)
def test_how_a_script_ended_is_said(script: Script, body: str, problem: str, code: int) -> None:
    row = rows.run(script(body), (), 60.0)

    assert row.problem == problem
    assert rows.exit_code([row]) == code


def test_a_script_without_time_is_not_run_and_the_run_incomplete() -> None:
    row = rows.run("minilm", (), 0.0)

    assert row.problem == "not run: no time left"
    assert rows.exit_code([row]) == 6
    assert rows.exit_code([row, rows.Row("other", (), 1.0, "exit code 1")]) == 1


def test_a_script_that_is_cut_short_keeps_what_it_found(script: Script) -> None:
    row = rows.run(script("figure('rate', 1, '/s')\nimport time; time.sleep(60)"), (), 5.0)

    assert (row.problem, row.ran) == ("not finished: no time left", False)
    assert [figure.what for figure in row.figures] == ["rate"]
    assert rows.exit_code([row]) == 6


def test_the_table_has_a_line_for_each_figure_and_each_problem() -> None:
    figures = (Figure("a", 1.234, " s", most=1.0), Figure("b", 123456, "/s"))
    found = [rows.Row("one", figures, 3.0), rows.Row("two", (), 0.0, "not run: x", ran=False)]
    console = Console(width=100, file=sys.stdout)

    with console.capture() as captured:
        console.print(rows.table(found))

    lines = [line for line in captured.get().splitlines() if "│" in line]
    assert [[cell.strip() for cell in line.strip("│").split("│")] for line in lines] == [
        ["one (3 s)", "a", "1.234 s", "at most 1 s", "MISSED"],
        ["", "b", "123,456/s", "", ""],
        ["two (0 s)", "not run: x", "", "", "not run"],
    ]


def test_an_unknown_script_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["nothing"]) == 2
    assert "found no benchmark nothing; there are fused_elementwise, " in capsys.readouterr().err


def test_a_figure_is_printed_and_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures"
    monkeypatch.setenv(FILE, str(file))

    assert figure("time", 1.5, " s", most=2)
    assert not figure("rate", float("nan"), "/s", least=2)

    assert capsys.readouterr().out.splitlines() == [
        "time: 1.5 s, at most 2 s: kept",
        "rate: nan/s, at least 2/s: MISSED",
    ]
    assert [found.what for found in noted(file)] == ["time", "rate"]


def test_the_page_of_peers_says_what_was_kept_missed_and_not_run() -> None:
    figures = (Figure("one", 0.9, " times", most=1.0), Figure("two", 1.2, " times", most=1.0))
    found = peers.page(
        [rows.Row("minilm", figures, 1.0), rows.Row("other", (), 0.0, "not run: no jax", ran=False)]
    )

    assert "| `minilm` | one | 0.9 times | at most 1 times | kept |" in found
    assert "|  | two | 1.2 times | at most 1 times | **missed** |" in found
    assert "| `other` | not run: no jax | | | not run |" in found
