"""Dims are worked out from symbols as `dim.evaluate` says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_vm.diagnostics import DataError
from reference_vm.runtime.sizes import compile_dim, compile_extent, compile_shape
from reference_vm.types import Dim
from reference_vm.types.dim import FUNCTIONS, add, apply, evaluate, multiply, symbol

SLOTS = {"n": 0, "m": 1}


def dims() -> st.SearchStrategy[Dim]:
    leaves = st.one_of(st.integers(1, 5), st.sampled_from([symbol("n"), symbol("m")]))

    def grow(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
        return st.one_of(
            st.builds(add, inner, inner),
            st.builds(multiply, inner, inner),
            st.builds(apply, st.sampled_from(FUNCTIONS), inner, st.integers(1, 4)),
        )

    return st.recursive(leaves, grow, max_leaves=6)


@given(dims(), st.integers(0, 20), st.integers(0, 20))
def test_a_compiled_dim_is_what_the_dim_evaluates_to(dim: Dim, n: int, m: int) -> None:
    assert compile_dim(dim, SLOTS)((n, m)) == evaluate(dim, {"n": n, "m": m})


def test_shapes_are_remembered_for_their_symbols_only() -> None:
    numbers = compile_shape((symbol("n"), 4), SLOTS)
    assert [numbers((n, 0)) for n in (1, 2, 1, 300)] == [(1, 4), (2, 4), (1, 4), (300, 4)]


def test_more_sets_of_symbols_than_are_remembered_are_right_too() -> None:
    extent = compile_extent((symbol("n"), 2), 4, SLOTS)
    for n in (*range(200), *range(200)):
        assert extent((n, 0)) == ((n, 2), 8 * n)


def test_a_negative_dim_is_refused() -> None:
    extent = compile_extent((symbol("n") - 3,), 4, SLOTS)
    assert extent((5, 0)) == ((2,), 8)
    with pytest.raises(DataError, match=r"the shape \[n - 3\] is \[-1\] in this run"):
        extent((2, 0))
