"""The file beside a report says when the run began that has not ended, wherever that is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hettest.report.unfinished import mark, warning


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone further away than a day, as no clock has it."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "AAA+99:99")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("nowhere")
def test_the_begin_is_said_in_any_time_zone(tmp_path: Path) -> None:
    report = tmp_path / "report.json"

    mark([report], 0.0)

    told = warning(report)
    assert told is not None
    assert "began at 1970-01-01T00:00:00+00:00 and has not ended" in told
