"""Shape functions: what they tell, when a launch asks them, and what they keep from being done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.diagnostics import DataError
from reference_vm.targets.shape_function import ShapeFunction, shape_function
from tests.unit.session.test_failures import failure

X = np.arange(6, dtype=np.float32).reshape(3, 2)


def compiled(text: str, **options: Any) -> rv.Program:
    module = rv.parse(f"module {{\n vdevice @host, @accel\n {text}\n}}")
    return rv.compile(module, "host=cpu:0,accel=sim:0", **options)


def told(text: str, *inputs: Any) -> Any:
    """Return what the shape function of a program's one kernel tells."""
    (primitive,) = compiled(text).primitives
    return tuple(shape_function(primitive)(inputs))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which kernels' shape functions are asked, in order."""
    found: list[str] = []
    call = ShapeFunction.__call__

    def noted(self: ShapeFunction, inputs: Any) -> Any:
        found.append(self.function.name)
        return call(self, inputs)

    monkeypatch.setattr(ShapeFunction, "__call__", noted)
    return found


def test_dims_tell_the_dims_of_a_broadcast() -> None:
    text = "fn @main(%x: f32[?, ?], %y: f32[?]) -> f32[?, ?] { %r = add(%x, %y) return %r }"

    assert told(text, (3, 1), (4,)) == ((3, 4),)
    assert told(text, (0, 1), (4,)) == ((0, 4),)
    with pytest.raises(DataError, match=r"\[3, 2\] and \[4\]"):
        told(text, (3, 2), (4,))


def test_host_operands_tell_with_their_data() -> None:
    text = "fn @main(%x: f32[?], %t: i64[?]) -> f32[...] { %r = tile(%x, %t) return %r }"

    assert told(text, (3,), np.array([4])) == ((12,),)


def test_floats_tell_how_far_an_axis_is_scaled() -> None:
    text = (
        "fn @main(%x: f32[?, ?], %s: f32[2]) -> f32[?, ?] { %r = resize(%x, none, %s) return %r }"
    )

    assert told(text, (4, 3), np.array([0.5, 2.5], np.float32)) == ((2, 7),)


def test_what_only_the_elements_tell_is_left_open() -> None:
    text = "fn @main(%x: f32[?]) -> (f32[?], i64[?], i64[?], i64[?]) { %r = unique(%x) return %r }"

    assert told(text, (5,)) == (None, None, (5,), None)


def test_every_operator_of_a_fused_kernel_has_its_say() -> None:
    text = (
        "fn @main(%x: f32[?, ?], %y: f32[?, ?]) -> f32[?, ?] {"
        " %s = add(%x, %y) %t = exp(%s) %r = negative(%t) return %r }"
    )

    assert told(text, (3, 1), (1, 2)) == ((3, 2),)


@pytest.mark.parametrize("place", ["", " @accel"])
def test_two_fused_operators_of_unknown_sizes_ask_once(asked: list[str], place: str) -> None:
    program = compiled(
        "fn @main(%x: f32[?, ?], %y: f32[?, ?]) -> f32[?, ?] {\n"
        f" %s = add(%x, %y){place} %r = abs(%s){place} return %r }}"
    )
    session = rv.Session(program, interpreter=True)
    asked.clear()

    np.testing.assert_array_equal(session.run("main", X, X[:1]), np.abs(X + X[:1]))

    assert asked == ["fused_add_abs"]


@pytest.mark.parametrize("shape", ["3, 2", "n, 2", "n, m"])
def test_sizes_that_are_known_to_fit_are_not_asked_for(asked: list[str], shape: str) -> None:
    program = compiled(
        f"fn @main(%x: f32[{shape}], %y: f32[{shape}]) -> f32[{shape}] {{"
        " %r = add(%x, %y) return %r }"
    )
    session = rv.Session(program, interpreter=True)
    asked.clear()

    session.run("main", X, X)

    assert asked == []


def test_sizes_that_are_known_but_may_not_fit_are_asked_for(asked: list[str]) -> None:
    program = compiled(
        "fn @main(%x: f32[n, k], %y: f32[j, m]) -> f32[n, m] { %r = matmul(%x, %y) return %r }"
    )
    session = rv.Session(program, interpreter=True)

    session.run("main", X, X.T)

    assert asked == ["matmul"]
    assert failure(lambda: session.run("main", X, X)).code == "shape-mismatch"


def test_answers_are_remembered() -> None:
    (primitive,) = compiled(
        "fn @main(%x: f32[?], %y: f32[?]) -> f32[?] { %r = add(%x, %y) return %r }"
    ).primitives
    function = shape_function(primitive)

    assert function([(3,), (1,)]) is function([(3,), (1,)])
    for size in range(200):
        assert function([(size,), (1,)]) == ((size,),)


def test_a_kernel_whose_result_is_empty_is_not_launched() -> None:
    program = compiled(
        "fn @main(%x: f32[?], %y: f32[?]) -> f32[?] { %r = add(%x, %y) @accel return %r }"
    )
    session = rv.Session(program)

    result = session.run("main", X[0, :0], X[0, :1])

    assert (result.shape, result.dtype) == ((0,), np.float32)
    (record,) = [r for r in session.trace if r.op == "add"]
    assert record.skipped


def test_what_a_result_takes_is_asked_of_the_device_before_anything_is_computed() -> None:
    module = rv.parse(
        "module {\n vdevice @host, @accel\n fn @main(%x: f32[?], %t: i64[1]) -> f32[?] {\n"
        " %r = tile(%x, %t) @accel return %r }\n}"
    )
    session = rv.Session(rv.compile(module, "host=cpu:0,accel=sim.tiny-memory:0"))

    found = failure(lambda: session.run("main", X[0], np.array([4000])))

    assert found.code == "out-of-memory"
    assert "cannot allocate 32000 bytes" in found.message
    assert [r for r in session.trace if r.op == "tile"] == []
