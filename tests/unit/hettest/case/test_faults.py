"""A case's kind of fault is its key's or its folder's, and one that can have cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from hettest.case.faults import fault_classes
from hettest.case.lint import problems_in
from hettest.case.loader import load
from tests.unit.hettest.case.written import text, write


def test_the_classes_are_numbered_without_a_gap() -> None:
    assert list(fault_classes()) == [f"C{n:02}" for n in range(1, len(fault_classes()) + 1)]


@pytest.mark.parametrize(
    ("name", "head", "fault"),
    [
        ("bugs/c24_shapes/name.toml", "", "C24"),
        ("area/name.toml", 'fault = "C07"', "C07"),
        ("bugs/c24_shapes/name.toml", 'fault = "C07"', "C07"),
        ("area/name.toml", "", None),
        ("other/c24_shapes/name.toml", "", None),
    ],
)
def test_the_key_wins_over_the_folder(
    tmp_path: Path, name: str, head: str, fault: str | None
) -> None:
    (case,) = load(write(tmp_path, text(head=head), name), tmp_path)

    assert case.fault == fault


@pytest.mark.parametrize(
    ("name", "head", "message"),
    [
        ("area/name.toml", 'fault = "C77"', "C77 is none of C01, C02"),
        ("bugs/c77_unheard_of/name.toml", "", "C77 is none of C01, C02"),
        ("area/name.toml", 'fault = "C28"', "is listed as without cases: a profiler"),
        ("area/name.toml", 'fault = "C26"', "without cases: a case has no words for it"),
        ("area/name.toml", 'fault = "leaks"', "'leaks' does not match"),
    ],
)
def test_a_class_that_cannot_have_cases_is_a_problem(
    tmp_path: Path, name: str, head: str, message: str
) -> None:
    path = write(tmp_path, text(head=head), name)

    found = [str(problem) for problem in problems_in([path], tmp_path)]

    assert any(message in problem for problem in found), found
