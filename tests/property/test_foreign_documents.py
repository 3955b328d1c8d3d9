"""A document from outside, changed anyhow, is read or refused in a sentence; never a traceback."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hettest import outcome_lock
from hettest.bench.exchange import action, asv
from hettest.bench.exchange.action import Shown
from hettest.bench.gate import limits_file
from hettest.cli import main as command
from hettest.errors import UsageError
from hettest.report import json_report
from tests.unit.hettest.bench.runs import paired, plain, run, to_json
from tests.unit.hettest.case.written import text as case_text
from tests.unit.hettest.files.hostile_text import texts
from tests.unit.hettest.report.test_hostile_text import said

VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [
            *(None, True, -1, 0, 1.5, 10**15, 1.8e18, 10**39, 1e308, -1e-308, 2**63, 5e-324),
            *("", "0", "1e400", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59", "../../x"),
            *([], {}, [[]], [None], {"": None}, ["a", "a"], {"hettest": {}}, [[[[[[1]]]]]]),
        ]
    ),
    texts(3),
)
SPLICES = (
    *(
        "",
        "NaN",
        "-Infinity",
        "1e400",
        "1" * 5000,
        "[" * 2000,
        '"\\ud800"',
        "\x00",
        "\ufeff",
        "null",
    ),
    *("true", "{", "}", ",", ":", '"', "\n", "-", "0", "[[a]]", "#", "'''", "=", "inf", "nan"),
)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(data, dict | list):
        inner = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in list(inner)[:40]:
            yield from places(value, (*path, key))


def changed(data: Any, draw: Callable[..., Any]) -> Any:
    """Return plain data in which one or two values are others, or are gone."""
    whole = {"": copy.deepcopy(data)}
    for _ in range(draw(st.integers(1, 2))):
        *path, last = draw(st.sampled_from(list(places(whole))[1:] or [("",)]))
        inner: Any = whole
        for key in path:
            inner = inner[key]
        if draw(st.integers(0, 3)) or last == "":
            inner[last] = draw(VALUES)
        else:
            del inner[last]
    return whole[""]


def spliced(text: str, draw: Callable[..., Any]) -> str:
    at = draw(st.integers(0, len(text)))
    end = draw(st.integers(at, min(len(text), at + 12)))
    return text[:at] + str(draw(st.sampled_from(SPLICES))) + text[end:]


def hettest(*args: str) -> tuple[int, str]:
    """Return the exit code of the command and what it said of what is wrong."""
    told = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()), redirect_stderr(told):
        patch.setattr("sys.argv", ["hettest", *args])
        with pytest.raises(SystemExit) as ended:
            command.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code, told.getvalue()


def holds(text: str, name: str, *args: str) -> None:
    """Find out that a command reads the text, or says in a sentence of which file what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        code, told = hettest(
            *(arg.replace("FILE", str(path)).replace("DIR", folder) for arg in args)
        )
    assert code in (0, 1, 2, 6)
    if code == 2:
        assert name in told, told
        assert "Traceback" not in told


STORED = to_json(run(paired("t.py::a", 0.9), plain("t.py::b"), number=1))
JSON: dict[str, tuple[Any, str, tuple[tuple[str, ...], ...]]] = {
    "report": (
        json_report.document(said("a reason")),
        "report.json",
        (("report", "FILE"), ("conformance", "diff", "FILE", "FILE")),
    ),
    "stored": (
        STORED,
        "0001_run.json",
        (
            ("bench", "compare", "FILE", "FILE"),
            ("bench", "trend", "FILE", "--out=DIR/trend.html"),
            ("bench", "export", "FILE", "--format=asv", "--out=DIR/asv"),
            ("bench", "export", "FILE", "--format=github-action-benchmark", "--out=DIR/data.js"),
        ),
    ),
    "array": (
        action.array(run(plain("b"), number=2), Shown.SECONDS),
        "array.json",
        (("bench", "import", "FILE", "--format=github-action-benchmark", "--out=DIR/out"),),
    ),
}
FORMS = [(name, args) for name, (_, _, commands) in JSON.items() for args in commands]
QUICK = settings(max_examples=25, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(("name", "args"), FORMS, ids=lambda v: v if isinstance(v, str) else v[1])
@given(data=st.data())
@QUICK
def test_json_is_read_or_refused(name: str, args: tuple[str, ...], data: st.DataObject) -> None:
    document, file, _ = JSON[name]
    if data.draw(st.booleans()):
        text = json.dumps(changed(document, data.draw))
    else:
        text = spliced(json.dumps(document, indent=1), data.draw)

    holds(text, file, *args)


@given(data=st.data())
@QUICK
def test_a_history_of_an_action_is_read_or_refused(data: st.DataObject) -> None:
    whole = action.script([run(plain("b"), number=n) for n in (1, 2)], Shown.SECONDS)
    document = json.loads(whole.removeprefix(action.PREFIX))
    text = action.PREFIX + json.dumps(changed(document, data.draw))
    text = text if data.draw(st.booleans()) else spliced(whole, data.draw)

    holds(
        text,
        "data.js",
        "bench",
        "import",
        "FILE",
        "--format=github-action-benchmark",
        "--out=DIR/o",
    )


@given(data=st.data())
@QUICK
def test_results_of_asv_are_read_or_refused(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asv.write(Path(folder), [run(plain("b"), paired("a", 1.1), number=1)])
        (file,) = (p for p in Path(folder).rglob("*.json") if "hettest" in p.name)
        document = json.loads(file.read_text())
    if data.draw(st.booleans()):
        text = json.dumps(changed(document, data.draw))
    else:
        text = spliced(json.dumps(document, indent=1), data.draw)

    holds(text, "run.json", "bench", "import", "FILE", "--format=asv", "--out=DIR/out")


WAIVERS = """format = 1

[[waiver]]
case = "ops/add/*"
stage = "values"
kind = "known-fault"
reason = "NaN"
owner = "me"
expires = 2999-01-01
devices = "accel=cuda:*"
"""
LIMITS = """format = 1
[[limit]]
benchmark = "a::*"
slower = 1.15
copies-at-most = 3
bytes-at-most = "1 MiB"
reason = "random"
"""


@given(data=st.data())
@QUICK
def test_a_case_file_is_read_or_refused(data: st.DataObject) -> None:
    text = spliced(case_text(), data.draw)
    text = spliced(text, data.draw) if data.draw(st.booleans()) else text

    holds(text, "case.toml", "case", "check", "FILE")


@given(data=st.data())
@QUICK
def test_waivers_are_read_or_refused(data: st.DataObject) -> None:
    report = json.dumps(json_report.document(said("a")))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "report.json").write_text(report)
        text = spliced(spliced(WAIVERS, data.draw), data.draw)

        holds(text, "waivers.toml", "waive", "audit", "FILE", f"--report={folder}/report.json")


def loads(load: Callable[[Path], object], text: str, name: str) -> None:
    """Find out that a file can be loaded, or that a sentence says of which file what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            load(path)
        except UsageError as error:
            assert name in str(error)  # noqa: PT017 - that it may be refused is half of the fact


@given(data=st.data())
@QUICK
def test_limits_are_read_or_refused(data: st.DataObject) -> None:
    loads(limits_file.load, spliced(LIMITS, data.draw), "limits.toml")


@given(texts(20))
@QUICK
def test_a_list_of_items_is_read_or_refused(text: str) -> None:
    loads(outcome_lock.read, text, "items.txt")


@given(texts(8))
@QUICK
def test_devices_are_named_or_refused(text: str) -> None:
    code, told = hettest("list", f"--devices=cpu,{text}")

    assert code in (0, 2)
    assert code == 0 or "--devices" in told or "found" in told
