"""``--het-report`` writes what happened as JSON or JUnit."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from hettest.report.json_report import SCHEMA
from tests.plugin.conftest import Run

TEST = """
def test_it(device):
    assert device.kind == 'cpu'
"""


def test_json_keeps_its_schema_and_adds_up(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_it=TEST)

    run("--devices=cpu,sim,cuda", "--het-report=build/report.json")

    report = json.loads((pytester.path / "build/report.json").read_text())
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(report)
    assert report["counts"] == {
        "passed": 1,
        "failed": 1,
        "crashed": 0,
        "not run": 1,
        "unsupported": 0,
        "waived": 0,
    }
    assert sum(report["counts"].values()) == report["selected"] == len(report["items"])
    assert [item["id"] for item in report["items"]] == [
        f"test_it.py::test_it[{device}]" for device in ("cpu:0", "sim:0", "cuda:0")
    ]


def test_junit_counts_the_same(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_it=TEST)

    run("--devices=cpu,sim,cuda", "--het-report=report.xml")

    suite = ElementTree.parse(pytester.path / "report.xml").getroot()[0]
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"}


def test_workers_write_one_report_with_the_same_counts(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_it=TEST)

    run("--devices=cpu,sim,cuda", "--het-report=one.json")
    run("--devices=cpu,sim,cuda", "--het-report=two.json", "-n2")

    one, two = (json.loads((pytester.path / f"{n}.json").read_text()) for n in ("one", "two"))
    assert one["counts"] == two["counts"]
    assert {i["id"]: i["outcome"] for i in one["items"]} == {
        i["id"]: i["outcome"] for i in two["items"]
    }


def test_a_worker_that_dies_is_a_crash(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        test_it="import os\n\ndef test_it(device):\n    if device.kind == 'sim': os._exit(3)\n"
    )

    result = run("--devices=cpu,sim", "--het-report=report.json", "-n1")

    report = json.loads((pytester.path / "report.json").read_text())
    assert report["counts"]["crashed"] == 1
    assert report["counts"]["passed"] == 1
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_it[[]sim:0[]]: its process died *"])
    (dead,) = (item for item in report["items"] if item["outcome"] == "crashed")
    assert dead["text"].startswith("worker 'gw0' crashed")


def test_another_ending_is_a_usage_error(run: Run) -> None:
    result = run("--devices=cpu", "--het-report=report.pdf")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*report.pdf: the name must end in .json or .xml or .md or .html"])
