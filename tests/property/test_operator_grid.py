"""One meaning on every path: operator x dtype x special values x shapes x path.

The paths: operands at run time or as constants, which are folded; the targets ``numpy`` and
``numba``; the devices ``cpu`` and ``sim``; alone in a kernel or fused with others; and the oracle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import Trait
from reference_vm.oracle.catalog import MEANINGS
from tests.property import grid_cells
from tests.property.grid_cells import Cell
from tests.property.grid_paths import Batch, Outcome, difference, is_exact, same_bits, within


def test_every_operator_is_in_the_grid() -> None:
    assert [name for name, op in OPS.items() if not grid_cells.cells(op)] == []


def test_every_operator_that_can_fail_is_tried_with_data_at_fault() -> None:
    tried = {cell.op.name for _, cell in grid_cells.fault_cells()}
    assert {n for n, op in OPS.items() if op.has(Trait.CAN_FAIL)} - tried <= {"match_cast"}


def test_every_operator_is_judged() -> None:
    assert OPS.keys() == MEANINGS.keys()


@pytest.mark.parametrize("name", OPS)
def test_all_paths_agree(name: str) -> None:
    cells = grid_cells.cells(OPS[name])
    found = list(_disagreements(cells))
    assert not found, f"{len(found)} of {len(cells)} cells:\n" + "\n".join(found[:20])


def _disagreements(cells: list[Cell]) -> Iterator[str]:
    batch = Batch(cells)
    run = batch.run("rhcuf", executor="numba")
    library = batch.run("rh", executor="numpy")
    elsewhere = batch.run("rh", device="sim:0")
    apart = batch.run("f", executor="numba", fuse=False)
    meant = batch.judged("rh")
    for number, cell in enumerate(cells):
        r, h, c, f = (f"{kind}{number}" for kind in "rhcf")
        usual = r if r in run else h
        if usual == h and not isinstance(run[h], str):
            yield f"{cell}: refused as a constant only, {run[h]}"
            continue
        yield from _compared(cell, "at run time, as shape operands", run, usual, run, h)
        yield from _compared(cell, "sizes known, unknown", run, usual, run, f"u{number}")
        yield from _compared(cell, "at run time, as constants", run, usual, run, c)
        yield from _compared(cell, "cpu, sim", run, usual, elsewhere, usual)
        yield from _compared(cell, "fused, not fused", run, f, apart, f)
        if cell.op.has(Trait.EXACT) or is_exact(run[usual]):
            yield from _compared(cell, "numba, numpy", run, usual, library, usual)
        for target, outcomes in (("numba", run), ("numpy", library)):
            if not within(outcomes[usual], meant[usual]):
                yield f"{cell}: {target}, oracle: {difference(outcomes[usual], meant[usual])}"


def _compared(
    cell: Cell,
    paths: str,
    ones: Mapping[str, Outcome],
    one: str,
    others: Mapping[str, Outcome],
    other: str,
) -> Iterator[str]:
    if one in ones and other in others and not same_bits(ones[one], others[other]):
        yield f"{cell}: {paths}: {difference(ones[one], others[other])}"


FAULTS = list(grid_cells.fault_cells())


@pytest.mark.parametrize(("code", "cell"), FAULTS, ids=[str(cell) for _, cell in FAULTS])
def test_data_at_fault_ends_in_one_error_on_all_paths(code: str, cell: Cell) -> None:
    batch = Batch([cell])
    options: list[dict[str, Any]] = [
        {"executor": "numba"},
        {"executor": "numpy"},
        {"device": "sim:0"},
        {"fuse": False, "plan_memory": False},
    ]
    found = [outcome for o in options for outcome in batch.run("rhcu", **o).values()]
    found += batch.judged("rh").values()
    assert set(found) <= {code}
    known = [True] * len(cell.operands)
    try:
        cell.infer(known)
    except CompileError as error:
        found += [d.code for d in error.diagnostics]
    assert found
    assert set(found) == {code}
