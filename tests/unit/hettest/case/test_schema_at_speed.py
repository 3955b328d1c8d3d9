"""The quick look at a case never says yes where the thorough one says no."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from hettest.case import schema
from hettest.case.schema import violations

CASE: dict[str, Any] = {
    "format": 1,
    "summary": "a program that does nothing of note",
    "level": 2,
    "clauses": ["ops.add"],
    "program": "module {}",
}


def _run(**tensor: Any) -> dict[str, Any]:
    args = {"a": {"dtype": "f32", "shape": [2], "data": [1.0, 2.5]} | tensor}
    return {"run": [{"name": "plain", "args": args, "result": "oracle"}]}


@pytest.mark.parametrize(
    "changed",
    [
        {"format": 1.0},
        {"format": True},
        {"level": 2.0},
        {"level": True},
        {"level": 2**70},
        {"summary": datetime.date(2020, 1, 1)},
        {"unknown": 1},
        _run(shape=[2.0]),
        _run(data=["1"]),
    ],
)
def test_what_breaks_the_schema_is_found(changed: dict[str, Any]) -> None:
    assert list(violations(CASE | changed))


@pytest.mark.parametrize("changed", [{}, _run(), _run(data=[float("nan"), float("inf")])])
def test_what_keeps_it_is_not(changed: dict[str, Any]) -> None:
    assert not list(violations(CASE | changed))


def test_the_thorough_one_is_not_made_for_a_plain_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_validator", lambda: pytest.fail("looked twice"))

    assert not list(violations(CASE | _run()))
