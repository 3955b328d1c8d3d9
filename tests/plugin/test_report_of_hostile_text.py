"""Text from outside never breaks a report, and what breaks one leaves the former one."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hettest.files import writing
from hettest.ledger import INCOMPLETE
from tests.plugin.conftest import Run
from tests.unit.hettest.files.hostile_text import NASTY, hidden

FORMS = ("json", "xml", "md", "html")
REPORTS = tuple(f"--het-report=report.{form}" for form in FORMS)
TEST = f"""
import pytest

TEXT = {"".join(NASTY)!a}

def test_skips(device):
    pytest.skip(TEXT)

def test_fails(device):
    pytest.fail(TEXT)

@pytest.mark.parametrize("text", [TEXT])
def test_is_named_so(device, text):
    pass
"""


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "xdist"])
def test_reasons_of_any_text_end_in_reports_that_are_well_formed(
    workers: tuple[str, ...], pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(test_it=TEST)

    result = run("--devices=cpu", *REPORTS, *workers)

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    made = {form: (pytester.path / f"report.{form}").read_text("utf-8") for form in FORMS}
    assert {form: hidden(text) for form, text in made.items()} == {form: [] for form in FORMS}
    report = json.loads(made["json"])
    assert {item["outcome"] for item in report["items"]} == {"unsupported", "failed", "passed"}
    assert ElementTree.fromstring(made["xml"])[0].get("tests") == "3"


def test_a_folder_named_by_control_characters_has_reports(
    pytester: pytest.Pytester, run: Run
) -> None:
    folder = pytester.path / "a\x01b\x1b[2J\u202e"
    folder.mkdir()
    (folder / "test_it.py").write_text("def test_it(device):\n    assert device.kind == 'sim'\n")

    result = run("--devices=cpu", *REPORTS)

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    (case,) = ElementTree.parse(pytester.path / "report.xml").getroot()[0]
    assert case.get("classname") == r"a\x01b\x1b[2J\u202e"
    said = result.stdout.str().partition("= hettest =")[2].partition("= short")[0]
    assert said
    assert not hidden(said)


@pytest.mark.parametrize("form", FORMS)
def test_a_disk_that_is_full_at_the_end_leaves_the_former_report(
    form: str, pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(test_it="def test_it(device): pass")
    path = pytester.path / f"report.{form}"
    run("--devices=cpu", f"--het-report={path.name}")
    former = path.read_bytes()
    real = writing._beside

    def full(target: Path, data: bytes) -> Any:
        if data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(target, data)

    monkeypatch.setattr(writing, "_beside", full)
    result = run("--devices=cpu", f"--het-report={path.name}")

    assert path.read_bytes() == former
    assert result.ret == INCOMPLETE
    told = result.stdout.str() + result.stderr.str()
    assert f"the report {path.name} cannot be written: No space left on device; make room" in told
    assert "Traceback" not in told
    assert "INTERNALERROR" not in told
