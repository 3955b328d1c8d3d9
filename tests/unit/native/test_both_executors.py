"""Both executors do the same: results to the bit, records, memory, errors."""

from __future__ import annotations

import importlib.util
from contextlib import suppress

import pytest

from reference_vm.diagnostics import ExecutionError
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


@pytest.mark.parametrize("name", sorted(set(DATA) - {"list of tensors elsewhere"}))
def test_data_types_and_closures_stay_in_the_loop(name: str) -> None:
    session, (args, *_) = Session(DATA[name].compiled()), DATA[name].calls
    for _ in range(2):
        with suppress(ExecutionError):  # of a function that is a result
            session.run("main", *args)

    calls = {left for left in session.left_to_python() if not left.startswith(_SIZES)}
    assert calls == set()


_SIZES = ("Invoke", "MatchCast")
"""What is left to Python once for each set of sizes."""


def test_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    (note,) = Session(SAMPLES["chain"].compiled()).notes
    assert "llvmlite is not installed: pip install 'hettest[numba]'" in note


def test_what_python_did_is_counted() -> None:
    session = Session(SAMPLES["library"].compiled())
    for _ in range(3):
        session.run("main", X)

    assert session.left_to_python()["Launch cumulative_sum"] == 3
