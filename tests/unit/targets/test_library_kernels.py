"""A kernel of the library target returns fresh memory where it is given none."""

from __future__ import annotations

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.targets.numpy import NUMPY
from tests.unit.session.test_runs import X

SLICE = """module {
  fn @main(%x: f32[4], %b: i64[1], %e: i64[1]) -> f32[?] {
    %y = slice(%x, %b, %e)
    return %y
  }
}"""


@pytest.mark.parametrize(("begin", "end"), [(1, 3), (0, 4)], ids=["a part", "the whole"])
def test_a_result_without_a_place_is_no_view_of_an_operand(begin: int, end: int) -> None:
    (primitive,) = rv.compile(rv.parse(SLICE)).primitives
    x, bounds = X.copy(), (np.array([begin]), np.array([end]))

    (result,) = NUMPY.compile(primitive, "cpu")(np, (x, *bounds), [None])

    assert not np.may_share_memory(result, x)
