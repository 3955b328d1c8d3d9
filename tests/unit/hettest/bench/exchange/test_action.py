"""Files of github-action-benchmark become stored runs, and the other way round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hettest.bench.exchange import action, writing
from hettest.bench.exchange.action import Shown
from hettest.bench.located import StoredError
from hettest.bench.stored import read
from hettest.errors import UsageError
from tests.unit.hettest.bench.runs import paired, plain, run

HISTORY = Path(__file__).with_name("data") / "data.js"


def test_a_history_is_read_from_its_first_run_on() -> None:
    go, python = action.read(HISTORY)

    assert (go.commit[:7], python.commit[:7]) == ("03aa097", "be395fa")
    assert go.when is not None
    assert python.when is not None
    assert go.when < python.when
    (found,) = python.entries
    assert (found.name, found.unit) == ("Python: bench.py::test_fib_10", "seconds")
    assert found.median == pytest.approx(2e-5)


def test_numbers_of_one_name_and_unit_are_rounds_and_zero_is_left_out() -> None:
    go, _ = action.read(HISTORY)

    assert [(e.name, e.rounds, e.unit) for e in go.entries] == [
        ("Go: BenchmarkFib10, ns/op", 3, "seconds"),
        ("Go: BenchmarkFib10, B/op", 1, "B/op"),
    ]
    assert [e.median for e in go.entries] == pytest.approx([310e-9, 24])


def test_an_array_does_not_say_what_is_better(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text('[{"name": "a", "unit": "Percent", "value": 50, "range": "5%"}]')

    (smaller,), (bigger,) = action.read(path), action.read(path, bigger=True)

    assert smaller.entries[0].bigger_is_better is False
    assert bigger.entries[0].bigger_is_better is True
    (stored,) = writing.write(tmp_path / "stored", [bigger])
    assert read(stored).entries == bigger.entries


def test_a_history_that_is_written_is_read_back(tmp_path: Path) -> None:
    runs = [run(paired("a", 1.0 + n, seed=n), plain("b"), number=n) for n in (1, 2)]
    path = tmp_path / "data.js"

    path.write_text(action.script(runs, Shown.SECONDS))
    found = action.read(path)

    assert path.read_text().startswith("window.BENCHMARK_DATA = {")
    for before, after in zip(runs, found, strict=True):
        assert (after.commit, after.when) == (before.commit, before.when)
        assert {e.name: e.median for e in after.entries} == {
            e.name: pytest.approx(e.median) for e in before.entries
        }


def test_of_paired_benchmarks_ratio_and_speedup_can_be_shown() -> None:
    measured = run(paired("a", 1.25), plain("b"))

    (ratio,), (speedup,) = (action.array(measured, s) for s in (Shown.RATIO, Shown.SPEEDUP))

    assert (ratio["name"], ratio["unit"]) == ("a", "ratio")
    assert ratio["value"] == pytest.approx(1.25, rel=0.02)
    assert speedup["value"] == pytest.approx(1 / ratio["value"])
    assert ratio["range"].startswith("± 0.0")
    assert "60 rounds" in ratio["extra"]
    assert (Shown.RATIO.tool, Shown.SPEEDUP.tool) == (
        "customSmallerIsBetter",
        "customBiggerIsBetter",
    )
    with pytest.raises(UsageError, match="has no benchmark whose ratio is known"):
        action.array(run(plain("b")), Shown.RATIO)


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ('"date": 1573968123092', '"date": "now"', ":17: entries.Python[0].date", "not of type"),
        ('"value": 50000', '"value": "fast"', ":22: entries.Python[0].benches[0].value", "'fast'"),
        ('"id": "03aa', '"di": "03aa', ":32: entries.Go[0].commit", "'id' is a required"),
        (
            "window.BENCHMARK_DATA = ",
            "",
            ":1",
            "found '{\\n  \"lastUpdate\": 157396812309' at the start, expected",
        ),
        ('"repoUrl":', '"repoUrl"', ":3", "found no JSON: Expecting ':' delimiter"),
    ],
)
def test_a_malformed_history_says_line_and_key(
    tmp_path: Path, old: str, new: str, place: str, message: str
) -> None:
    text = HISTORY.read_text()
    assert old in text
    path = tmp_path / "data.js"
    path.write_text(text.replace(old, new, 1))

    with pytest.raises(StoredError) as refused:
        action.read(path)

    assert str(refused.value).startswith(f"{path}{place}: ")
    assert message in str(refused.value)


def test_a_malformed_array_says_line_and_key(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text(json.dumps([{"name": "a", "value": 1}, {"name": "b"}], indent=1))

    with pytest.raises(StoredError, match=r"out\.json:6: \[1\]: 'value' is a required property"):
        action.read(path)
