"""The commands that compare, export and import stored runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hettest.bench.needs import require
from hettest.errors import UsageError
from tests.unit.hettest.bench.runs import paired, plain, run, write
from tests.unit.hettest.test_cli import hettest

Monkey = pytest.MonkeyPatch
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    then = run(paired("t.py::test_a", 0.9), plain("t.py::test_gone"), number=1)
    now = run(paired("t.py::test_a", 1.3, seed=9), plain("t.py::test_new"), number=2)
    return str(write(tmp_path, then)), str(write(tmp_path, now))


def test_compare_shows_both_verdicts_and_the_change(
    two: tuple[str, str], monkeypatch: Monkey, capsys: Capture
) -> None:
    assert hettest(monkeypatch, "bench", "compare", *two) == 1

    printed = capsys.readouterr().out
    (line,) = [line for line in printed.splitlines() if "test_a" in line]
    assert [word for word in line.split() if word in ("faster,", "slower,", "slower")] == [
        "faster,",
        "slower,",
        "slower",
    ]
    assert "missing: t.py::test_gone\nnew: t.py::test_new\n1 benchmark in both: " in printed


def test_compare_ends_with_what_it_found(
    two: tuple[str, str], tmp_path: Path, monkeypatch: Monkey, capsys: Capture
) -> None:
    same = str(write(tmp_path, run(paired("t.py::test_a", 0.9, seed=5), number=3)))
    other = str(write(tmp_path, run(plain("t.py::test_b"), number=4)))

    assert hettest(monkeypatch, "bench", "compare", same, same) == 0
    faster = ("bench", "compare", two[1], two[0])
    assert hettest(monkeypatch, *faster) == 6  # and one is missing
    assert hettest(monkeypatch, *faster, "--may-be-missing=*::test_other") == 6
    assert hettest(monkeypatch, *faster, "--may-be-missing=*::test_new") == 0
    assert hettest(monkeypatch, "bench", "compare", two[0], other) == 6
    assert "nothing can be said of any benchmark" in capsys.readouterr().out


def test_compare_speaks_json(two: tuple[str, str], monkeypatch: Monkey, capsys: Capture) -> None:
    assert hettest(monkeypatch, "bench", "compare", *two, "--json") == 1

    shown = json.loads(capsys.readouterr().out)
    (row,) = shown["benchmarks"]
    assert (row["then"], row["now"], row["change"]["verdict"]) == ("faster", "slower", "slower")
    assert (shown["missing"], shown["new"]) == (["t.py::test_gone"], ["t.py::test_new"])


def test_a_malformed_run_says_line_and_key(
    two: tuple[str, str], tmp_path: Path, monkeypatch: Monkey, capsys: Capture
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{\n"benchmarks": [\n{"fullname": 3}]}')

    assert hettest(monkeypatch, "bench", "compare", two[0], str(wrong)) == 2
    assert f"{wrong}:3: benchmarks[0]: found no fullname and stats" in capsys.readouterr().err


def test_export_and_import_make_runs_that_can_be_compared(
    two: tuple[str, str], tmp_path: Path, monkeypatch: Monkey, capsys: Capture
) -> None:
    asv, action = (tmp_path / name for name in ("results", "data.js"))

    hettest_ok(monkeypatch, "export", *two, "--format=asv", f"--out={asv}")
    hettest_ok(monkeypatch, "import", str(asv), "--format=asv", f"--out={tmp_path / 'one'}")
    first, second = sorted((tmp_path / "one").iterdir())
    assert hettest(monkeypatch, "bench", "compare", str(first), str(second)) == 1

    form = "--format=github-action-benchmark"
    hettest_ok(monkeypatch, "export", *two, form, f"--out={action}", "--values=ratio")
    hettest_ok(monkeypatch, "import", str(action), form, f"--out={tmp_path / 'other'}")
    assert len(list((tmp_path / "other").iterdir())) == 2
    assert "tool: customSmallerIsBetter" in capsys.readouterr().out

    hettest_ok(monkeypatch, "import", str(action), form, f"--out={tmp_path / 'third'}", "--json")
    assert len(json.loads(capsys.readouterr().out)["files"]) == 2


def hettest_ok(monkeypatch: Monkey, *args: str) -> None:
    assert hettest(monkeypatch, "bench", *args) == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("export", "--format=github-action-benchmark", "--out=a.json"), "holds one run, found 2"),
        (("trend", "--out=page.txt"), "the name must end in .html"),
    ],
)
def test_wrong_usage_is_told(
    two: tuple[str, str],
    tmp_path: Path,
    monkeypatch: Monkey,
    capsys: Capture,
    args: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert hettest(monkeypatch, "bench", args[0], *two, *args[1:]) == 2
    assert message in capsys.readouterr().err


def test_an_import_overwrites_nothing(
    two: tuple[str, str], tmp_path: Path, monkeypatch: Monkey, capsys: Capture
) -> None:
    out = f"--out={tmp_path}"

    assert hettest(monkeypatch, "bench", "import", two[0], "--format=asv", out) == 2
    assert "expected a folder that is empty or not there" in capsys.readouterr().err


def test_what_is_not_installed_is_named_with_its_extra() -> None:
    with pytest.raises(UsageError, match=r"trend needs no_such: pip install 'hettest\[bench\]'"):
        require("trend", "json", "no_such")
