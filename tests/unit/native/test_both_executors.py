"""Both executors do the same: results to the bit, records, memory, errors."""

from __future__ import annotations

import pytest

from reference_vm.runtime.native import executor
from reference_vm.session import Session
from tests.unit.native.both import Both
from tests.unit.native.data_programs import DATA
from tests.unit.native.programs import SAMPLES, X


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("name", [*SAMPLES, *DATA])
def test_programs_run_alike(name: str, checked: bool) -> None:
    sample = (SAMPLES | DATA)[name]
    both = Both(sample.compiled(), checked=checked)
    for args in (*sample.calls, *sample.calls):
        both.check("main", *args)


def test_more_launches_with_contents_than_there_is_room_to_note_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor, "NOTES", 8)
    both = Both(SAMPLES["slices in a loop"].compiled())
    for args in SAMPLES["slices in a loop"].calls:
        both.check("main", *args)

    assert both.native.left_to_python()["Launch slice"] > 20


def test_what_python_did_is_counted() -> None:
    session = Session(SAMPLES["library"].compiled())
    for _ in range(3):
        session.run("main", X)

    assert session.left_to_python()["Launch cumulative_sum"] == 3
