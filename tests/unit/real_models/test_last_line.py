"""The last line of `make run` says what passed here, after whatever the peer did."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from benchmarks.real_models import main as job
from benchmarks.real_models.examine import Finding
from hettest.outcome import Outcome, Record
from hettest.report import ReportContent
from tests.unit.hettest.report.made import content


@pytest.mark.parametrize(("outcome", "word"), [(Outcome.PASSED, "OK"), (Outcome.FAILED, "FAILED")])
def test_the_last_line_is_of_this_project(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    outcome: Outcome,
    word: str,
) -> None:
    def corpus(console: object, backend: str, *others: object) -> tuple[int, ReportContent]:
        ours = backend == "reference_vm"
        print(f"{backend}: a page of failures")
        records = (Record("a/b[1]", outcome if ours else Outcome.FAILED, "", 2),)
        return (int(outcome is not Outcome.PASSED) if ours else 1), content(records)

    def models(console: object, words: Sequence[str]) -> list[Finding]:
        return []

    monkeypatch.setattr(job, "_models", models)
    monkeypatch.setattr(job, "_corpus", corpus)

    code = job.main()

    last = capsys.readouterr().out.splitlines()[-1]
    passed = int(word == "OK")
    assert last.startswith(
        f"{word}: of reference_vm 0 of 0 real models passed, {passed} of 1 items"
    )
    assert code == 1 - passed
    assert re.fullmatch(r"\S.*\S", last)
