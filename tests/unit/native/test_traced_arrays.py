"""A number that is traced takes part in arrays by what it is worth, and is decided then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.runtime.native.tracing import Recording
from reference_vm.session import Session

ARRAY = np.array([3, 5, 9])


@pytest.mark.parametrize(
    "use",
    [
        lambda n: n + ARRAY,
        lambda n: ARRAY - n,
        lambda n: n - ARRAY,
        lambda n: n * ARRAY,
        lambda n: ARRAY // n,
        lambda n: n % ARRAY,
        lambda n: n < ARRAY,
        lambda n: n > ARRAY,
        lambda n: np.minimum(n, ARRAY),
    ],
)
def test_arrays_are_computed_as_with_an_int(use: Callable[[Any], Any]) -> None:
    recording = Recording()
    (number,) = [recording.given(5)]
    found = use(number)
    np.testing.assert_array_equal(found, use(5))
    assert found.dtype != object
    assert len(recording.steps) == 2, "the constant, and that the number is it"


def test_sizes_of_reflected_paddings_may_change() -> None:
    text = """
    module {
      fn @main(%x: f32[n]) -> f32[n + 4] {
        %p = const i64[2] [2, 2]
        %y = pad(%x, %p, mode = "reflect")
        return %y
      }
    }
    """
    session = Session(rv.compile(rv.parse(text)))
    for size in (5, 7, 5, 9, 7, 3):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(session["main"](x), np.pad(x, 2, mode="reflect"))
