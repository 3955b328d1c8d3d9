"""A value fits its type, or what is wrong with its form is told."""

from __future__ import annotations

from typing import Any

import pytest

from hettest.case.fitting import mismatch
from hettest.case.model import Tensor, Written
from hettest.language import parse

PROGRAM = """module {
  type List[T] { Nil, Cons(T, List[T]) }
  type Shape { Point, Ball((f32[3], f32[])) }
  fn @main(%l: List[(f32[2], i64[n])], %s: (Shape, f32[...])) -> f32[...] {
    %r = %s[1]
    return %r
  }
}"""
F2, I4 = Tensor("f32", (2,), fill=0), Tensor("i64", (4,), fill=0)
F3, F = Tensor("f32", (3,), fill=0), Tensor("f32", (), fill=0)
NIL: Written = ("Nil",)


def found(name: str, written: Written) -> str | None:
    module = parse(PROGRAM, "test")
    (param,) = (p for p in module.by_name["main"].params if p.name == name)
    return mismatch(written, param.type, module)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("l", NIL),
        ("l", ("Cons", (F2, I4), ("Cons", (F2, I4), NIL))),
        ("s", (("Point",), F)),
        ("s", (("Ball", (F3, F)), F3)),
    ],
)
def test_a_value_that_fits_is_no_mismatch(name: str, written: Written) -> None:
    assert found(name, written) is None


@pytest.mark.parametrize(
    ("name", "written", "message"),
    [
        ("l", F2, "found a tensor, expected List[(f32[2], i64[n])]: Nil, Cons"),
        ("l", (F2, I4), "found a tuple of 2, expected List[(f32[2], i64[n])]: Nil, Cons"),
        ("l", ("Kons", F2), "found Kons with 1 fields, expected List[(f32[2], i64[n])]: Nil, Cons"),
        ("l", ("Point",), "found Point with 0 fields, expected List"),
        ("l", ("Cons", (F2, I4)), "found Cons with 1 fields, expected 2"),
        ("l", ("Cons", (F3, I4), NIL), "found shape [3], expected f32[2]"),
        ("l", ("Cons", (F2, I4), ("Cons", (I4, I4), NIL)), "found i64, expected f32"),
        ("l", ("Cons", F2, NIL), "found a tensor, expected a tuple of 2"),
        ("s", NIL, "found Nil with 0 fields, expected a tuple of 2"),
        ("s", (("Point",), NIL), "found Nil with 0 fields, expected f32[...]"),
        ("s", (("Point",), F, F), "found 3 items, expected 2"),
    ],
)
def test_what_does_not_fit_is_told(name: str, written: Any, message: str) -> None:
    assert message in (found(name, written) or "")
