"""A result is nested as the program says, and holds arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hettest.backend.nesting import copied
from hettest.judge.nesting import leaves, misfit, rebuilt
from hettest.language import oracle
from reference_vm.text import parse

A = np.zeros(2)

DEEP = 100_000


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


def deep(leaf: Any) -> Any:
    """Return a list, as a run gives one, that is deeper than Python's stack."""
    made: Any = ("Nil",)
    for _ in range(DEEP):
        made = ("Cons", leaf, made)
    return made


def test_nothing_is_nested_too_deep() -> None:
    numbers = iter(range(DEEP))
    made = rebuilt((deep(A), (A,)), (next(numbers, "last") for _ in range(DEEP + 1)))
    assert list(leaves(made)) == [*range(DEEP)]
    assert made[1] == ("last",)
    assert misfit(deep(A), deep(A)) is None
    assert misfit(deep(A), deep("Name")) == "the result[1] is an array, expected 'Name'"


def test_what_is_given_to_a_backend_is_copied_however_deep() -> None:
    (copy,) = copied((deep(A),))
    assert misfit(copy, deep(A)) is None
    assert not any(array is A for array in leaves(copy))


def test_the_oracle_takes_and_gives_lists_of_any_length() -> None:
    module = parse("""module {
      type List[A] { Nil, Cons(A, List[A]) }
      fn @main(%l: List[f64[2]], %x: f64[2]) -> List[f64[2]] {
        %r = Cons(%x, %l)
        return %r
      }
    }""")
    found = oracle.evaluate(module, "main", (deep(A), A + 1)).result
    estimates = list(leaves(found))
    assert len(estimates) == DEEP + 1
    assert [float(e.value[0]) for e in estimates[:2]] == [1, 0]
