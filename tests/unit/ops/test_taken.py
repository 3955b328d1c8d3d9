"""The dtypes that the page of operators lists are those that type rules take."""

from __future__ import annotations

import pytest

from reference_vm.ops.catalog import OPS
from tests.property.grid_cells import cells
from tests.unit.ops.taken import named, taken


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("add", "integers, floats"),
        ("sqrt", "floats"),
        ("equal", "all"),
        ("bitwise_and", "bool, integers"),
        ("quantize_linear", "f16, bf16, f32"),
        ("shape_to_tensor", ""),
    ],
)
def test_dtypes_are_told_in_words(op: str, words: str) -> None:
    assert named(taken(OPS[op])) == words


@pytest.mark.parametrize("name", OPS)
def test_what_the_samples_have_is_taken(name: str) -> None:
    op = OPS[name]

    assert {c.dtype for c in cells(op) if c.dtype and c.is_accepted} <= set(taken(op))
