"""Branches, symbols, and shapes that only a run can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from tests.unit.session.in_use import in_use
from tests.unit.session.test_failures import failure
from tests.unit.session.test_runs import X, loaded, of_kind

BRANCH = (
    "(%c: bool[], %x: f32[4]) -> f32[4] @host {\n"
    "%e = exp(%x) @accel\n"
    "%r = if %c {\n"
    "  %n = negative(%e) @accel yield %n\n"
    "} else {\n"
    "  yield %e\n"
    "}\n"
    "%z = add(%r, %x) @host\n"
    "return %z }"
)


@pytest.mark.parametrize("condition", [True, False])
def test_one_branch_runs_and_memory_comes_back(condition: bool) -> None:
    session = loaded(BRANCH)
    result = session.run("main", np.array(condition), X)
    expected = (-np.exp(X) if condition else np.exp(X)) + X
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    ran = [r.op for r in of_kind(session, "library", "kernel")]
    assert ran == (["exp", "negative", "add"] if condition else ["exp", "add"])
    assert in_use(session) == {"cpu:0": 0, "sim:0": 0}


def test_a_condition_computed_on_the_accelerator_is_read_on_the_host() -> None:
    session = loaded(
        "(%x: f32[4]) -> f32[4] @host {\n"
        "%s = sum(%x) @accel\n"
        "%k = const f32[] 0.0\n"
        "%c = greater(%s, %k) @accel\n"
        "%r = if %c { %n = negative(%x) @host yield %n } else { yield %x }\n"
        "return %r }"
    )
    np.testing.assert_array_equal(session.run("main", X), -X)
    np.testing.assert_array_equal(session.run("main", -X), -X)
    assert [r.cause.kind for r in of_kind(session, "copy") if r.cause] == ["read", "host"]


def test_branches_yield_tuples() -> None:
    session = loaded(
        "(%c: i32[], %x: f32[4]) -> f32[4] {\n"
        "%t = if %c { %n = negative(%x) %p = (%n, %x) yield %p }\n"
        "else { %e = abs(%x) %q = (%x, %e) yield %q }\n"
        "%a = %t[0] %b = %t[1] %z = subtract(%a, %b) return %z }"
    )
    np.testing.assert_array_equal(session.run("main", np.array(7, np.int32), X), -2 * X)
    np.testing.assert_array_equal(session.run("main", np.array(0, np.int32), -X), -2 * X)


def test_one_program_serves_all_sizes() -> None:
    session = loaded(
        "(%x: f32[n, 4]) -> f32[4*n] @host {\n"
        "%s = shape_of(%x)\n"
        "%e = exp(%x) @accel\n"
        "%f = const i64[1] [-1]\n"
        "%r = reshape(%e, %f)\n"
        "return %r }"
    )
    for n in (1, 3, 0, 100):
        x = np.ones((n, 4), np.float32)
        np.testing.assert_allclose(session.run("main", x), np.exp(x).reshape(-1))


def test_the_shape_of_an_accelerators_value_needs_no_copy() -> None:
    session = loaded(
        "(%x: f32[?, 4] @accel, %y: f32[k] @accel) -> f32[?, ?] @accel {\n"
        "%s = shape_of(%x)\n"
        "%r = reshape(%y, %s) @accel\n"
        "return %r }"
    )
    result = session.run("main", np.ones((3, 4), np.float32), np.arange(12, dtype=np.float32))
    assert result.shape == (3, 4)
    causes = [r.cause.kind for r in of_kind(session, "copy") if r.cause]
    assert causes == ["argument", "argument", "deliver"]
    (shape,) = of_kind(session, "shape")
    assert (shape.op, shape.device, shape.defines) == ("shape_of", "cpu:0", ("main/%s",))


def test_a_result_of_data_dependent_size_is_checked_and_bound_by_match_cast() -> None:
    session = loaded(
        "(%x: f32[n], %c: bool[n]) -> f32[?] @host {\n"
        "%k = compress(%x, %c, axis = 0) @accel\n"
        "%y: f32[m] = match_cast(%k)\n"
        "%z = add(%y, %y) @accel\n"
        "return %z }"
    )
    keep = np.array([True, False, True, True])
    np.testing.assert_array_equal(session.run("main", X, keep), 2 * X[keep])
    np.testing.assert_array_equal(session.run("main", X, ~keep), 2 * X[~keep])
    assert in_use(session) == {"cpu:0": 0, "sim:0": 0}


def test_a_match_cast_that_does_not_hold_is_located() -> None:
    session = loaded(
        "(%x: f32[?]) -> f32[4] {\n    %y: f32[4] = match_cast(%x)\n    return %y\n  }"
    )
    np.testing.assert_array_equal(session.run("main", X), X)
    found = failure(lambda: session.run("main", X[:3]))
    assert (found.code, found.span and found.span.line) == ("match-cast", 4)
    assert "dim 0 is 3, expected 4" in found.message


def test_operands_of_unknown_size_that_do_not_fit_are_located() -> None:
    session = loaded("(%x: f32[?], %y: f32[?]) -> f32[?] {\n    %z = add(%x, %y)\n    return %z }")
    np.testing.assert_array_equal(session.run("main", X, X), 2 * X)
    found = failure(lambda: session.run("main", X, X[:3]))
    assert found.code == "shape-mismatch"
    assert found.span is not None
    assert found.span.line == 4


def test_a_shape_that_only_the_data_tells_is_read_on_the_host() -> None:
    session = loaded(
        "(%x: f32[4] @accel, %s: i64[2]) -> f32[?, ?] @accel {\n"
        "%r = reshape(%x, %s) @accel\n"
        "%e = exp(%r) @accel\n"
        "return %e }"
    )
    for shape in ((2, 2), (4, 1), (-1, 2)):
        result = session.run("main", X, np.array(shape))
        np.testing.assert_allclose(result, np.exp(X.reshape(shape)))
    found: Any = failure(lambda: session.run("main", X, np.array([3, 3])))
    assert found.code in ("shape-mismatch", "operator-failed")


def test_functions_call_functions() -> None:
    module = rv.parse(
        "module {\n vdevice @host\n"
        " fn @main(%x: f32[n] @host) -> f32[n] @host attrs { entry = true } {\n"
        "  %a = @twice(%x) %b = @twice(%a) return %b }\n"
        " fn @twice(%y: f32[m] @host) -> f32[m] @host { %z = add(%y, %y) return %z }\n}"
    )
    session = rv.Session(rv.compile(module, "host=cpu:0"))
    np.testing.assert_array_equal(session.run("main", X), 4 * X)
    assert in_use(session) == {"cpu:0": 0}
    assert failure(lambda: session.run("twice", X)).code == "unknown-entry"
