"""What is published and not covered is listed as a gap."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hettest.levels.coverage import Cell, Coverage, Published, coverage
from hettest.outcome import Clause, Outcome, Record, Status
from tests.unit.hettest.levels.small import record

PUBLISHED = Published(
    clauses=("copies.apart", "ops.alone", "ops.other"),
    operators=("add", "det"),
    dtypes=("f32", "f64"),
    faults=("C01", "C02"),
    fault_of={"ops/alone": "C01"},
)


def ended(id: str, outcome: Outcome, *requires: str) -> Record:  # noqa: A002
    return record(id, outcome, proves=("ops.alone",), requires=requires)


def test_what_passed_is_proven_and_the_rest_is_a_gap() -> None:
    found = coverage([ended("ops/alone[a]", Outcome.PASSED, "op:add:f32", "dtype:f32")], PUBLISHED)

    assert (found.clauses.proven, found.clauses.gaps) == (
        ("ops.alone",),
        ("copies.apart", "ops.other"),
    )
    assert (found.operators.proven, found.operators.gaps) == (("add",), ("det",))
    assert (found.dtypes.proven, found.dtypes.gaps) == (("f32",), ("f64",))
    assert (found.faults.proven, found.faults.gaps) == (("C01",), ("C02",))


def test_one_failure_outweighs_what_passed_and_unsupported_is_open() -> None:
    failed = coverage(
        [ended("ops/alone[a]", Outcome.PASSED), ended("ops/alone[b]", Outcome.FAILED)], PUBLISHED
    )
    open_ = coverage([ended("ops/alone[a]", Outcome.UNSUPPORTED)], PUBLISHED)

    assert (failed.clauses.failed, failed.clauses.proven) == (("ops.alone",), ())
    assert (open_.clauses.open, open_.clauses.published) == (("ops.alone",), 3)


@pytest.mark.parametrize(
    ("level", "failed", "shown"),
    [
        (3, ("copies", "moved", "arrivals"), "proven"),
        (3, ("copies", "values"), "failed"),
        (2, ("copies",), "failed"),
    ],
)
def test_an_operator_is_not_to_blame_for_what_was_placed_wrongly(
    level: int, failed: tuple[str, ...], shown: str
) -> None:
    wrong = [Clause(name, Status.FAILED, "wrong") for name in failed]
    values = [] if "values" in failed else [Clause("values", Status.PROVEN, "right")]
    item = replace(
        ended("ops/alone[a]", Outcome.FAILED, "op:add:f32"), level=level, clauses=(*wrong, *values)
    )

    found = coverage([item], PUBLISHED)

    assert "add" in getattr(found.operators, shown)
    assert found.clauses.failed == ("ops.alone",)


def test_what_cases_name_and_nobody_published_is_listed() -> None:
    found = coverage([record("a[b]", proves=("ops.typo",))], PUBLISHED)

    assert found.clauses.unlisted == ("ops.typo",)
    assert found.clauses.published == 3


def test_tests_of_ones_own_cover_nothing() -> None:
    mine = Record("test_mine.py::test_it", Outcome.PASSED, proves=("ops.alone",))

    assert coverage([mine], PUBLISHED).clauses.proven == ()


def test_the_matrix_shows_the_worst_outcome_by_operator_dtype_and_device() -> None:
    records = [
        ended("a[x,default=sim:0]", Outcome.PASSED, "op:add:f32"),
        ended("b[x,default=sim:0]", Outcome.FAILED, "op:add:f32"),
        ended("c[x,default=cpu:0]", Outcome.UNSUPPORTED, "op:add:f32"),
        ended("d[x,host=cpu:0,accel=sim:0,policy=copy]", Outcome.FAILED, "op:add:f32"),
    ]

    assert coverage(records, PUBLISHED).matrix == (
        Cell("add", "f32", "cpu:0", "unsupported", 1),
        Cell("add", "f32", "sim:0", "failed", 2),
    )


def test_coverage_reads_back() -> None:
    found = coverage([ended("ops/alone[x,default=sim:0]", Outcome.PASSED, "op:add:f32")], PUBLISHED)

    assert Coverage.from_json(found.to_json()) == found
