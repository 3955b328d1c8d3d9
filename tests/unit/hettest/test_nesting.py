"""A result is nested as the program says, and holds arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hettest.judge.nesting import misfit

A = np.zeros(2)


@pytest.mark.parametrize(
    ("found", "wanted", "message"),
    [
        (A, A, None),
        ((A, (A,)), (A, (A,)), None),
        ((), (), None),
        ((A,), A, "the result is a tuple of 1, expected an array"),
        (A, (A,), "the result is an array, expected a tuple of 1"),
        ((A, A), (A, (A,)), "the result[1] is an array, expected a tuple of 1"),
        ((A, A, A), (A, (A, A)), "the result is a tuple of 3, expected a tuple of 2"),
        ([A], (A,), "the result is of type list, expected a tuple of 1"),
        (np.float32(1), A, "the result is a NumPy scalar (float32), expected an array"),
        ((A, 1.0), (A, A), "the result[1] is of type float, expected an array"),
        (("Some", A), ("Some", A), None),
        (("Some", A), ("None",), "the result is Some with 1 fields, expected None with 0 fields"),
        (("Some", A), ("Many", A), "the result[0] is 'Some', expected 'Many'"),
    ],
)
def test_the_first_misfit_is_named_with_its_place(
    found: Any, wanted: Any, message: str | None
) -> None:
    assert misfit(found, wanted) == message
