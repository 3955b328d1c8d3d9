"""What is wrong inside an argument is said with its place, as one would write it in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_vm as rv

PROGRAM = """module {
  type List[T] { Nil, Cons(T, List[T]) }
  fn @main(%x: (f32[n], (f32[n, 2], f32[2*n])), %l: (i64[], List[f32[2]]), %s: (shape[4], f32[]))
      -> f32[] bounds n in 0..8 {
    %r = %s[1]
    return %r
  }
}
"""
F = np.float32
X = (np.ones(3, F), (np.ones((3, 2), F), np.ones(6, F)))
L = (np.int64(0), ("Cons", np.ones(2, F), ("Nil",)))
S = ((4,), F(0))

WRONG: dict[str, tuple[Any, str]] = {
    "tuple": (((X[0], X[1][0]), L, S), "%x, item [1]: found an array of 2 axes, expected (f32["),
    "dtype": (((X[0], (X[1][0], np.ones(6))), L, S), "%x, item [1][1]: found f64, expected f32["),
    "rank": (((X[0], (X[0], X[1][1])), L, S), "%x, item [1][0]: found f32[3], expected f32[n, 2"),
    "dim": (
        ((X[0], (np.ones((2, 2), F), X[1][1])), L, S),
        "%x, item [1][0]: dim 0 is 2, but n was 3 in an earlier argument or dim",
    ),
    "expression": (
        ((X[0], (X[1][0], np.ones(5, F))), L, S),
        "%x, item [1][1]: dim 0 is 5, expected 2*n = 6",
    ),
    "constructor": (
        (X, (L[0], ("Cons", np.ones(2, F), ("Nill",))), S),
        "%l, item [1][2]: found the constructor Nill, expected List[f32[2]",
    ),
    "fields": (
        (X, (L[0], ("Cons", np.ones(2, F))), S),
        "%l, item [1]: found Cons with 1 fields, expected 2",
    ),
    "field": (
        (X, (L[0], ("Cons", np.ones(2, F), ("Cons", np.ones(1, F), ("Nil",)))), S),
        "%l, item [1][2][1]: found f32[1], expected f32[2]",
    ),
    "dims": ((X, L, ((4.5,), F(0))), "%s, item [0]: dim 0 is 4.5, expected an integer"),
    "whole": ((X, 3, S), "%l: found an int, expected (i64[]"),
}


@pytest.mark.parametrize("interpreter", [False, True], ids=["native", "interpreter"])
@pytest.mark.parametrize("name", WRONG)
def test_the_place_in_the_argument_is_said(name: str, interpreter: bool) -> None:
    args, message = WRONG[name]
    session = rv.Session(rv.compile(rv.parse(PROGRAM)), interpreter=interpreter)

    with pytest.raises(rv.ExecutionError) as caught:
        session.run("main", *args)

    assert f"@main: argument {message}" in str(caught.value)


def test_a_place_too_deep_to_read_is_cut() -> None:
    deep: tuple[Any, ...] = ("Nil", 1)
    for _ in range(3000):
        deep = ("Cons", np.ones(2, F), deep)
    session = rv.Session(rv.compile(rv.parse(PROGRAM)))

    with pytest.raises(rv.ExecutionError) as caught:
        session.run("main", X, (L[0], deep), S)

    assert f"%l, item [1]{'[2]' * 19}…: found Nil with 1 fields" in str(caught.value)
