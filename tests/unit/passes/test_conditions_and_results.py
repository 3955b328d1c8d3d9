"""Conditions are bools or integers of rank 0; results of another type are shown where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_vm as rv

BRANCH = """module {{
  vdevice @host, @accel
  fn @main(%c: {0}, %x: f32[2]) -> f32[2] {{
    %r = if %c {{
      %y = add(%x, %x)
      yield %y
    }} else {{
      yield %x
    }}
    return %r
  }}
}}
"""
X = np.array([1, 2], np.float32)


@pytest.mark.parametrize("interpreter", [False, True], ids=["native", "interpreter"])
@pytest.mark.parametrize("where", ["", " @accel"], ids=["host", "accel"])
@pytest.mark.parametrize(
    "value", [np.bool_(1), np.int8(-3), np.uint8(255), np.int64(1 << 40), np.int64(0), np.int32(0)]
)
def test_all_integers_but_0_are_true(value: Any, where: str, interpreter: bool) -> None:
    dtype = {"bool": "bool"}.get(str(value.dtype)) or f"{value.dtype.kind}{value.itemsize * 8}"
    module = rv.parse(BRANCH.format(f"{dtype}[]{where}"))
    session = rv.Session(rv.compile(module, "accel=sim:0", check=True), interpreter=interpreter)

    np.testing.assert_array_equal(session.run("main", value, X), X + X if value else X)


@pytest.mark.parametrize("type_", ["f32[]", "i64[1]", "bool[2]", "(bool[], bool[])", "shape[2]"])
def test_other_conditions_are_refused_where_they_are(type_: str) -> None:
    with pytest.raises(rv.CompileError) as caught:
        rv.compile(rv.parse(BRANCH.format(type_)), "accel=sim:0")

    (found,) = caught.value.diagnostics
    assert found.code == "type-mismatch"
    assert "expected a rank-0 bool or integer tensor" in found.message
    assert found.span is not None
    assert found.span.line == 4


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("%y = exp(%x)\nreturn %y", "y"),
        ("return %x", "x"),
        ("%t = (%x, %x)\nreturn %t", "t"),
        ("%p = if %b { yield %x } else { %w = exp(%x)\nyield %b }\nreturn %k", "yield %b"),
        ("%f = fn (%q: f32[4]) -> f32[3] {\nreturn %q }\nreturn %k", "return %q"),
        ("%y = match %b { %v => { yield %x } }\nreturn %y", "return %y"),
    ],
)
def test_a_result_of_another_type_is_shown_where_it_is_returned(body: str, place: str) -> None:
    text = f"""module {{ fn @main(%x: f32[4], %k: f32[5], %b: bool[]) -> f32[5] {{
{body} }} }}"""
    with pytest.raises(rv.CompileError) as caught:
        rv.compile(rv.parse(text))

    (found,) = caught.value.diagnostics
    assert found.code == "type-mismatch"
    assert found.span is not None
    word = place.split()[-1].removeprefix("%")
    start = text.rindex(f"%{word}")
    assert (found.span.start, found.span.text) == (start, f"%{word}")
