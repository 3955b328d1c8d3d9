"""At the ends of domains an exact 0 stays one, and what may be over the end is open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hettest.backend.protocol import Observation
from hettest.judge import Status, judge
from reference_vm.oracle.estimate import Estimate
from reference_vm.oracle.evaluate import evaluate, spread
from reference_vm.text import parse

NORM = """module {
  fn @main(%x: f32[2, 3]) -> f32[2] {
    %m = multiply(%x, %x)
    %s = sum(%m, axis = [1])
    %r = sqrt(%s)
    return %r
  }
}"""
ROWS = np.array([[0, 0, 0], [1.1, -2.3, 0.7]], np.float32)


def estimate(text: str, *args: Any) -> Estimate:
    found = evaluate(parse(text), "main", list(args)).result
    assert isinstance(found, Estimate)
    return found


def unary(call: str) -> str:
    """Return a program whose operand is 0 where nothing is rounded, and may be on either side."""
    return f"""module {{
      fn @main(%a: f32[1], %b: f32[1], %c: f32[1]) -> f32[1] {{
        %s = multiply(%a, %b)
        %z = subtract(%s, %c)
        %one = const f32[1] [1.0]
        %u = add(%z, %one)
        %r = {call}
        return %r
      }}
    }}"""


A, B = (np.array([v], np.float32) for v in (1.1, 1.3))
C = A * B


def test_random_rounding_leaves_the_norm_of_a_row_of_zeros_0() -> None:
    module = parse(NORM)
    first = evaluate(module, "main", [ROWS])

    runs = [run for run in spread(module, "main", [ROWS], first) if isinstance(run, Estimate)]

    assert [float(run.value[0]) for run in runs] == [0.0] * 8
    assert len({float(run.value[1]) for run in runs}) > 1


def test_a_right_norm_is_judged_right_and_a_wrong_one_is_not() -> None:
    module, right = parse(NORM), np.sqrt(np.sum(ROWS * ROWS, axis=1))
    for change, held in ((0.0, True), (1e-3, False)):
        seen = Observation(results=(right + np.float32(change)).astype(np.float32))
        assert judge(module, "main", [ROWS], seen, None).holds is held


@pytest.mark.parametrize(
    "call",
    [
        *("sqrt(%z)", "log(%z)", "reciprocal(%z)", "divide(%a, %z)", "acos(%u)", "asin(%u)"),
        *("acosh(%u)", "atanh(%u)", "pow(%z, %b)", "multiply(sqrt(%z), %a)"),
    ],
)
def test_what_may_be_over_the_end_is_open(call: str) -> None:
    text = unary(call)
    if call.startswith("multiply"):
        text = text.replace("%r = multiply(sqrt(%z), %a)", "%q = sqrt(%z) %r = multiply(%q, %a)")
    wider = text.replace("f32[1]", "f32[2]").replace("[1.0]", "[1.0, 1.0]")
    beside = [np.append(a, np.float32(other)) for a, other in ((A, 1.5), (B, 1.5), (C, 0))]
    assert np.isinf(estimate(wider, *beside).errors).tolist() == [True, False]
    for given in (np.nan, 0.25):
        seen = Observation(results=np.array([given], np.float32))
        assert judge(parse(text), "main", [A, B, C], seen, None).holds


@pytest.mark.parametrize("call", ["sqrt(%p)", "acos(%i)"])
def test_what_cannot_be_over_the_end_is_not_open(call: str) -> None:
    lines = "%p = relu(%z) %lo = const f32[1] [-1.0] %i = clip(%u, %lo, %one)"
    text = unary(call).replace("%r =", f"{lines} %r =")

    found = estimate(text, A, B, C)

    assert np.isfinite(found.errors).all()
    wrong = Observation(results=np.array([np.nan], np.float32))
    assert judge(parse(text), "main", [A, B, C], wrong, None)["bound"].status is not Status.HOLDS


def test_a_spread_without_bound_is_not_a_spread_of_0() -> None:
    text = unary("sqrt(%z)")

    verdict = judge(
        parse(text), "main", [A, B, C], Observation(results=np.array([3e-4], np.float32)), None
    )

    assert verdict.holds
    assert verdict["anchor"].status is Status.VACUOUS
    assert not verdict.decides
