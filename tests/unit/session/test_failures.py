"""A run that fails says where, gives back what it took, and leaves the session usable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from tests.unit.session.in_use import in_use
from tests.unit.session.test_runs import MAP, X, loaded

TAKE = (
    "(%x: f32[4], %i: i64[2]) -> f32[2] @host {\n"
    "    %y = exp(%x) @accel\n"
    "    %z = take(%y, %i, axis = 0) @accel\n"
    "    return %z\n  }"
)


def failure(call: Any) -> rv.Diagnostic:
    with pytest.raises(rv.ExecutionError) as caught:
        call()
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_an_index_out_of_range_names_operator_line_and_variable() -> None:
    session = loaded(TAKE)
    found = failure(lambda: session.run("main", X, np.array([0, 9])))
    assert found.code == "index-out-of-range"
    assert "take (%main/%z)" in found.message or "take (main/%z)" in found.message
    assert found.span is not None
    assert found.span.line == 5


@pytest.mark.parametrize("executor", ["numpy", "numba"])
def test_an_index_out_of_range_is_found_for_an_empty_result_too(executor: str) -> None:
    module = rv.parse(
        "module { fn @main(%x: f32[n, 0], %i: i64[2]) -> f32[2, 0] {\n"
        "    %z = take(%x, %i, axis = 0)\n    return %z\n  }\n}"
    )
    session = rv.Session(rv.compile(module, executor=executor))
    found = failure(lambda: session.run("main", np.zeros((3, 0), np.float32), np.array([0, 3])))
    assert found.code == "index-out-of-range"


def test_the_session_works_on_after_a_failure() -> None:
    session = loaded(TAKE)
    failure(lambda: session.run("main", X, np.array([0, 9])))
    assert in_use(session) == {"cpu:0": 0, "sim:0": 0}
    result = session.run("main", X, np.array([0, 1]))
    np.testing.assert_allclose(result, np.exp(X[:2]))


def test_the_trace_of_a_failed_run_ends_where_it_failed() -> None:
    session = loaded(TAKE)
    failure(lambda: session.run("main", X, np.array([0, 9])))
    assert [r.op for r in session.trace if r.kind in ("kernel", "library")] == ["exp"]


def test_running_out_of_device_memory_is_located() -> None:
    session = loaded(
        "(%x: f32[n]) -> f32[n] @host {\n    %y = exp(%x) @accel\n    return %y\n  }",
        "host=cpu:0,accel=sim.tiny-memory:0",
    )
    session.run("main", np.ones(512, np.float32))
    found = failure(lambda: session.run("main", np.ones(900, np.float32)))
    assert found.code == "out-of-memory"
    assert "sim.tiny-memory:0 cannot allocate 3600 bytes: 3600 of 4096 bytes are in use" in (
        found.message
    )
    assert found.span is not None
    assert found.span.line == 4
    session.run("main", np.ones(512, np.float32))


def test_constants_that_do_not_fit_are_refused_at_load() -> None:
    with pytest.raises(rv.ExecutionError, match="out-of-memory"):
        loaded(
            "(%x: f32[2000]) -> f32[2000] @host {\n"
            "%k = const f32[2000] splat 1.0 %y = add(%x, %k) @accel return %y }",
            "host=cpu:0,accel=sim.tiny-memory:0",
        )


def test_a_dtype_that_a_device_lacks_is_refused_before_the_run() -> None:
    module = rv.parse(
        "module {\n  vdevice @host, @accel\n"
        "  fn @main(%x: f64[4]) -> f64[4] @host {\n"
        "    %y = exp(%x) @accel\n    return %y\n  }\n}"
    )
    with pytest.raises(rv.CompileError) as caught:
        rv.compile(module, "host=cpu:0,accel=sim.no-f64:0")
    codes = {(d.code, d.span.line if d.span else None) for d in caught.value.diagnostics}
    assert ("unsupported-dtype", 4) in codes


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        ((X,), "argument-count", "found 1 arguments, expected 2: %a, %b"),
        (
            (X.reshape(1, 4), X.astype(np.float64)),
            "argument-dtype",
            "%b: found f64, expected f32[n, 4]",
        ),
        ((X.reshape(1, 4), X), "argument-rank", "%b: found f32[4], expected f32[n, 4]"),
        (
            (X.reshape(1, 4), np.ones((2, 3), np.float32)),
            "argument-shape",
            "%b: found f32[2, 3], expected f32[n, 4]",
        ),
        (
            (X.reshape(1, 4), np.ones((2, 4), np.float32)),
            "argument-shape",
            "%b: dim 0 is 2, but n was 1 in an earlier argument or dim",
        ),
        (
            (np.ones((9, 4), np.float32),) * 2,
            "symbol-out-of-bounds",
            "%a: n is 9, expected 1..8",
        ),
        ((X.reshape(1, 4), "text"), "argument-type", "%b: found a str, expected an array"),
        ((X.reshape(1, 4), (X, X)), "argument-type", "%b: found a tuple of 2"),
    ],
)
def test_an_argument_that_does_not_fit_names_parameter_found_and_expected(
    args: tuple[Any, ...], code: str, text: str
) -> None:
    session = loaded(
        "(%a: f32[n, 4], %b: f32[n, 4]) -> f32[n, 4] bounds n in 1..8 "
        "{ %c = add(%a, %b) return %c }"
    )
    found = failure(lambda: session.run("main", *args))
    assert found.code == code
    assert text in found.message
    assert (found.span is None) == (code == "argument-count")


def test_an_expression_of_symbols_is_checked_in_arguments() -> None:
    session = loaded("(%a: f32[n], %b: f32[2*n + 1]) -> f32[n] { %c = negative(%a) return %c }")
    session.run("main", X, np.ones(9, np.float32))
    found = failure(lambda: session.run("main", X, np.ones(8, np.float32)))
    assert found.code == "argument-shape"
    assert "dim 0 is 8, expected 2*n + 1 = 9" in found.message


def test_a_device_map_that_cannot_be_read_is_a_diagnostic() -> None:
    module = rv.parse("module { fn @main(%a: f32[4]) -> f32[4] { return %a } }")
    for text, code in (
        ("host", "invalid-device-map"),
        ("host=cpu:0,host=cpu:1", "invalid-device-map"),
        ("accel=tpu:0", "device-unavailable"),
    ):
        with pytest.raises(rv.CompileError) as caught:
            rv.compile(module, text)
        assert caught.value.diagnostics[0].code == code


def test_options_that_do_not_exist_are_named_with_those_that_do() -> None:
    module = rv.parse("module { fn @main(%a: f32[4]) -> f32[4] { return %a } }")
    with pytest.raises(rv.CompileError, match=r"unknown-policy.*copy, replicate, error"):
        rv.compile(module, MAP, policy="move")
    with pytest.raises(rv.CompileError, match="unknown-executor"):
        rv.compile(module, MAP, executor="tvm")
