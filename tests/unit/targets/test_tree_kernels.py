"""Decision trees as machine code give the library's bits, and find the same tables bad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.ops.definition import DataError
from reference_vm.ops.trees import AGGREGATES, MODES
from reference_vm.targets.numpy import NUMPY
from tests.unit.targets.judged import function_of, native, run_in_parts

Array = Any


def _trees(random: Any, dtype: Any, *, trees: int, depth: int, targets: int) -> list[Array]:
    """Return tables of random trees, of which some are single leaves."""
    nodes: list[tuple[int, float, int, int, int, bool]] = []
    leaves: list[list[tuple[int, float]]] = []

    def leaf() -> int:
        said = [(int(random.integers(targets)), random.normal()) for _ in range(random.integers(4))]
        leaves.append(said)
        return -len(leaves)

    def grow(depth: int) -> int:
        if depth == 0 or random.random() < 0.2:
            return leaf()
        mine = len(nodes)
        nodes.append((0, 0.0, 0, 0, 0, False))
        yes, no = grow(depth - 1), grow(depth - 1)
        threshold = random.choice([0.0, 1.0, -1.0, np.nan, random.normal()])
        mode, missing = int(random.integers(len(MODES))), bool(random.random() < 0.5)
        nodes[mine] = (int(random.integers(3)), float(threshold), mode, yes, no, missing)
        return mine

    roots = [grow(depth) for _ in range(trees)]
    columns = list(zip(*nodes, strict=True)) if nodes else [()] * 6
    kinds = (np.int64, dtype, np.uint8, np.int64, np.int64, np.bool_)
    flat = [vote for votes in leaves for vote in votes]
    return [
        *(np.array(c, k) for c, k in zip(columns, kinds, strict=True)),
        np.array(roots, np.int64),
        np.cumsum([0, *map(len, leaves)]).astype(np.int64),
        np.array([t for t, _ in flat], np.int64),
        np.array([w for _, w in flat], dtype),
    ]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1 << 20),
    dtype=st.sampled_from([np.float32, np.float64]),
    aggregate=st.sampled_from(AGGREGATES),
    rows=st.integers(1, 9),
    trees=st.integers(0, 5),
    depth=st.integers(0, 4),
    targets=st.integers(1, 4),
)
def test_machine_code_gives_the_librarys_bits(
    seed: int, dtype: Any, aggregate: str, rows: int, trees: int, depth: int, targets: int
) -> None:
    random = np.random.default_rng(seed)
    x = random.choice([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, 0.3], (rows, 3)).astype(dtype)
    operands = [x, *_trees(random, dtype, trees=trees, depth=depth, targets=targets)]
    function = function_of("tree_ensemble", operands, targets=targets, aggregate=aggregate)
    (right,) = NUMPY.compile(function, "cpu")(np, operands, [None])
    kernel = native(function)
    (whole,) = kernel(np, operands, [None])
    call = kernel.native([o.shape for o in operands])
    assert call is not None
    (cut,) = run_in_parts(call, operands, [dtype], 3)
    assert whole.tobytes() == cut.tobytes() == right.tobytes()


STUMP: list[Array] = [
    np.array([[0.25, 2.0, 1.0]], np.float32),
    np.array([2]),
    np.array([0.5], np.float32),
    np.array([0], np.uint8),
    np.array([-1]),
    np.array([-2]),
    np.array([False]),
    np.array([0]),
    np.array([0, 1, 2]),
    np.array([0, 0]),
    np.array([10, 20], np.float32),
]
"""One tree with one node, which asks whether feature 2 is at most 0.5."""


@pytest.mark.parametrize(
    ("place", "bad"),
    [
        (1, [3]),
        (1, [-1]),
        (3, [6]),
        (4, [1]),
        (5, [-3]),
        (7, [1]),
        (8, [0, 1, 1]),
        (8, [1, 1, 2]),
        (8, [0, 3, 2]),
        (9, [0, 1]),
        (9, [-1, 0]),
        (4, [0]),  # which is taken by a row below, and leads back to itself
        (5, [0]),
    ],
)
def test_bad_tables_are_told_as_the_library_tells_them(place: int, bad: Sequence[int]) -> None:
    operands = list(STUMP)
    operands[place] = np.array(bad, operands[place].dtype)
    operands[0] = np.array([[0, 0, 0], [0, 0, 1]], np.float32)
    function = function_of("tree_ensemble", operands, targets=1, aggregate="sum")
    with pytest.raises(DataError) as expected:
        NUMPY.compile(function, "cpu")(np, operands, [None])
    kernel = native(function)
    with pytest.raises(DataError) as found:
        kernel(np, operands, [None])
    assert vars(found.value) == vars(expected.value)
    (good,) = kernel(np, STUMP, [None])
    assert good.tolist() == [[20.0]], "what comes after bad data is right again"


def test_a_node_that_asks_is_the_place_of_the_answer() -> None:
    function = function_of("tree_ensemble", STUMP, targets=1, aggregate="sum")
    x = np.array([[9, 9, 0.5], [0, 0, 0.6], [0, 0, np.nan]], np.float32)
    (found,) = native(function)(np, [x, *STUMP[1:]], [None])
    assert found.tolist() == [[10.0], [20.0], [20.0]]
