"""``hettest bench trend`` prints where benchmarks changed, and writes a page that stands alone."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hettest.bench.storage import history
from hettest.bench.trend.history import series
from hettest.bench.trend.page import render, trends
from tests.unit.hettest.bench.runs import paired, plain, run, write
from tests.unit.hettest.test_cli import hettest

NAME = "test_it.py::test_paired[<a>&b]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve runs; from the eighth on the paired benchmark is slower."""
    found = tmp_path_factory.mktemp("runs")
    for number in range(12):
        ratio = 0.9 if number < 7 else 1.2
        entries = paired(NAME, ratio, seed=number), plain("test_it.py::test_plain", seed=number)
        write(found, run(*entries, number=number))
    return found


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    runs = history([folder])
    return render(trends(series(runs), 0.05), len(runs))


def test_the_terminal_shows_changes(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "trend.html"

    assert hettest(monkeypatch, "bench", "trend", str(folder), f"--out={out}") == 0

    printed = capsys.readouterr().out
    (line,) = [line for line in printed.splitlines() if NAME in line]
    assert re.search(r"cccccc7\w*, 2027-03-08 12:00 +0\.\d+x +1\.[12]\d*x +1\.3\dx +slower", line)
    assert "runs: 12, benchmarks: 2, changes: 1" in printed
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_few_runs_are_said_to_be_too_few(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(folder / f"{number:04}_run.json") for number in range(4)]

    assert hettest(monkeypatch, "bench", "trend", *files) == 6
    assert f"{NAME}: 4 runs, 8 are needed to find changes" in capsys.readouterr().out

    assert hettest(monkeypatch, "bench", "trend", *files, "--json") == 6
    shown = json.loads(capsys.readouterr().out)
    assert [(t["enough_runs"], len(t["values"])) for t in shown] == [(False, 4), (False, 4)]


def test_only_the_last_runs_are_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hettest(monkeypatch, "bench", "trend", str(folder), "--last=5")

    assert "runs: 5, benchmarks: 2, changes: 0" in capsys.readouterr().out


class Tags(HTMLParser):
    """Counts tags, and keeps whatever could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.count: dict[str, int] = {}
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        outside = [v for k, v in attrs if k in ("src", "href") and v and v[0] != "#"]
        self.loads += [value for value in outside if value != "data:,"]


def test_the_page_loads_nothing_and_draws_each_benchmark(page: str) -> None:
    tags = Tags()
    tags.feed(page)

    assert tags.loads == []
    assert "script" not in tags.count
    assert "url(" not in page
    assert (tags.count["svg"], tags.count["circle"]) == (2, 24)
    assert tags.count["details"] == 2


def test_what_benchmarks_are_called_is_escaped(page: str) -> None:
    assert NAME not in page
    assert "test_it.py::test_paired[&lt;a&gt;&amp;b]" in page


def test_each_graph_says_in_words_what_it_shows(page: str) -> None:
    titles = re.findall(r'<title id="graph-\d+">(.*?)</title>', page, re.DOTALL)

    assert len(titles) == 2
    assert "over 12 runs" in titles[0]
    assert re.search(r"slower by 1\.3\dx at cccccc7", titles[0])


def test_the_same_runs_give_the_same_page(folder: Path, page: str) -> None:
    assert render(trends(series(history([folder])), 0.05), 12) == page
