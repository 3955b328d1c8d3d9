"""The matrix has a row for each operator and a column for each dtype on each device."""

from __future__ import annotations

from hettest.levels.coverage import Cell
from hettest.report.html.matrix import matrix

CELLS = (
    Cell("add", "f32", "sim:0", "failed", 2),
    Cell("add", "f32", "cpu:0", "passed", 2),
    Cell("add", "i8", "cpu:0", "passed", 1),
    Cell("sub", "f64", "cpu:0", "passed", 1),
)


def test_dtypes_stand_by_kind_and_size_and_devices_as_in_the_run() -> None:
    made = matrix(CELLS, ("cpu:0", "sim:0"))

    assert made is not None
    assert made.dtypes == ("i8", "f32", "f64")
    assert made.devices == ("cpu:0", "sim:0")
    (row,) = made.marked
    assert row.op == "add"
    shown = [None if cell is None else cell.shown for cell in row.cells]
    assert shown == ["passed", None, "passed", "failed", None, None]


def test_operators_of_which_all_items_passed_stand_apart() -> None:
    made = matrix(CELLS, ("cpu:0",))

    assert made is not None
    assert [row.op for row in made.clean] == ["sub"]
    assert made.devices == ("cpu:0", "sim:0"), "a device that was not named is not lost"


def test_operators_of_which_no_item_is_claimed_are_named_alone() -> None:
    lacking = (
        Cell("det", "f32", "cpu:0", "unsupported", 2),
        Cell("det", "f64", "cpu:0", "unsupported", 1),
        Cell("sub", "i8", "cpu:0", "unsupported", 1),
    )

    made = matrix((*CELLS, *lacking), ("cpu:0",))

    assert made is not None
    assert made.unclaimed == ("det",)
    assert [row.op for row in made.marked] == ["add", "sub"], "partly claimed, they keep their rows"
    assert made.clean == ()


def test_no_cells_make_no_matrix() -> None:
    assert matrix((), ("cpu:0",)) is None
