"""Loops of ONNX: what they leave, on one device and another, and as what they come back.

Models are written in ONNX's text form; what is expected is computed beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, parser

from reference_vm.compiler import compile as compile_module
from reference_vm.diagnostics import CompileError, ExecutionError
from reference_vm.exchange import from_onnx, to_onnx
from reference_vm.exchange.export_loops import loop_form
from reference_vm.ir.nodes import Module
from reference_vm.oracle.evaluate import evaluate
from reference_vm.session import Session
from reference_vm.text import parse, print_module

Array = npt.NDArray[Any]

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'

WHILE = """agraph (int64 m, float[n] x) => (float[n] y, float[k, n] rows) {
  yes = Constant<value = bool {1}>()
  y, rows = Loop (m, yes, x) <body =
      b (int64 i, bool c, float[n] v) => (bool go, float[n] w, float[n] r) {
     two = Constant<value = float {2.0}>()
     w = Mul(v, two)
     s = ReduceSum<keepdims=0>(w)
     limit = Constant<value = float {100.0}>()
     go = Less(s, limit)
     r = Add(w, x)
  }>
}"""

GROWING = """agraph (int64 m, float[n] x) => (float[k] y, float[j] sums) {
  y, sums = Loop (m, , x) <body =
      b (int64 i, bool c, float[q] v) => (bool d, float[p] w, float r) {
     d = Identity(c)
     w = Concat<axis=0>(v, x)
     r = ReduceSum<keepdims=0>(w)
  }>
}"""

NESTED = """agraph (int64 m, float[n] x) => (float[n] y, float[j, k, n] rows) {
  y, rows = Loop (m, , x) <body =
      b (int64 i, bool c, float[n] v) => (bool d, float[n] w, float[k, n] r) {
     d = Identity(c)
     w, r = Loop (m, , v) <body =
        e (int64 j, bool f, float[n] u) => (bool g, float[n] t, float[n] s) {
        g = Identity(f)
        a = Cast<to=1>(j)
        b = Cast<to=1>(i)
        t = Add(u, a)
        s = Sub(t, b)
     }>
  }>
}"""

SCAN = """agraph (float[2] s, float[3, n] x, float[n, 5] z)
    => (float[2] t, float[2, n] a, float[n, 5] b) {
  t, a, b = Scan <num_scan_inputs=2, scan_input_axes=[1, 0], scan_input_directions=[1, 0],
                  scan_output_axes=[-1, 0], scan_output_directions=[0, 1],
                  body =
      b (float[2] v, float[3] xi, float[5] zi) => (float[2] w, float[2] ra, float[5] rb) {
     q = ReduceSum<keepdims=0>(xi)
     w = Add(v, q)
     ra = Identity(w)
     u = ReduceMax<keepdims=0>(w)
     rb = Mul(zi, u)
  }>(s, x, z)
}"""

ROWS_OF_ANY_SIZE = """agraph (int64 m, float[n] x) => (int64[j, k, o] rows) {
  yes = Constant<value = bool {1}>()
  rows = Loop (m, yes) <body =
      b (int64 i, bool c) => (bool d, int64[k, o] r) {
     d = Identity(c)
     r = NonZero(x)
  }>
}"""

SHAPES_FROM_OUTSIDE = """agraph (int64 m, float[n, 4] x) => (float[q] y) {
  f = Concat<axis=0>(x, x)
  sh = Shape(f)
  flat = Constant<value = int64[1] {-1}>()
  g = Reshape(f, flat)
  y = Loop (m, , g) <body =
      b (int64 i, bool c, float[q] v) => (bool d, float[q] w) {
     d = Identity(c)
     h = Reshape(v, sh)
     k = Add(h, f)
     w = Reshape(k, flat)
  }>
}"""


def imported(text: str) -> Module:
    return from_onnx(parser.parse_model(HEAD + text))


def results(module: Module, *args: Any, **options: Any) -> list[Array]:
    found = Session(compile_module(module, **options)).run("main", *args)
    return [np.asarray(r) for r in (found if isinstance(found, tuple) else (found,))]


def check(module: Module, args: Sequence[Any], expected: Sequence[Any]) -> None:
    """Run on either device, evaluate by the oracle, and export and import again."""
    told = evaluate(module, "main", list(args)).result
    oracle = [np.asarray(e.value) for e in _each(told)]
    back = from_onnx(to_onnx(module))
    for found in (
        results(module, *args),
        results(module, *args, default="sim:0"),
        results(back, *args),
        results(parse(print_module(module)), *args),
        oracle,
    ):
        for ours, wanted in zip(found, expected, strict=True):
            assert ours.shape == np.shape(wanted)
            np.testing.assert_allclose(ours.astype(np.float64), wanted, rtol=1e-6)


def _each(told: Any) -> tuple[Any, ...]:
    return told if isinstance(told, tuple) else (told,)


X = np.arange(3, dtype=np.float32)


@pytest.mark.parametrize(("most", "trips"), [(100, 6), (3, 3), (2**62, 6), (0, 0), (-5, 0)])
def test_a_loop_ends_by_its_limit_or_its_condition(most: int, trips: int) -> None:
    rows = [X * 2 ** (i + 1) + X for i in range(trips)]
    expected = [X * 2**trips, np.reshape(rows, (trips, 3))]
    check(imported(WHILE), (np.int64(most), X), expected)


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_what_a_loop_carries_may_grow(trips: int) -> None:
    expected = [np.tile(X, trips + 1), [3.0 * (i + 2) for i in range(trips)]]
    check(imported(GROWING), (np.int64(trips), X), expected)


def test_loops_in_loops_see_all_that_is_around_them() -> None:
    value, rows = X.astype(np.float64), np.zeros((4, 4, 3))
    for i in range(4):
        for j in range(4):
            value = value + j
            rows[i, j] = value - i
    check(imported(NESTED), (np.int64(4), X), [value, rows])


def test_a_scan_walks_along_any_axis_either_way() -> None:
    x, z = np.random.default_rng(0).random((2, 35), np.float32)
    x, z = x[:21].reshape(3, 7), z.reshape(7, 5)
    start = np.array([0.5, 1.0], np.float32)
    states = start + np.cumsum(x.astype(np.float64).sum(0)[::-1])[:, None]
    maxima = states.max(1)
    check(imported(SCAN), (start, x, z), [states[-1], states.T, (z * maxima[:, None])[::-1]])


@pytest.mark.parametrize("trips", [1, 8, 9, 20])
def test_rows_are_collected_whose_size_only_the_run_knows(trips: int) -> None:
    x = np.array([1, 0, 2], np.float32)
    check(imported(ROWS_OF_ANY_SIZE), (np.int64(trips), x), [np.tile([[0, 2]], (trips, 1, 1))])


def test_shapes_from_around_a_loop_stay_known_inside() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    module = imported(SHAPES_FROM_OUTSIDE)
    check(module, (np.int64(3), x), [np.tile(x.reshape(-1), 2) * 4])
    assert "f32[2*n, 4] = reshape(" in print_module(module)


def test_a_loop_is_a_function_that_calls_itself_in_tail_position() -> None:
    module = imported(WHILE)
    assert [f.name for f in module.entries] == ["main"]
    loops = [f for f in module.functions if f.name != "main"]
    assert loops
    assert all(loop_form(loop) is not None for loop in loops)


COUNTING = """agraph (int64 m, float x) => (float y, float[k] rows) {
  y, rows = Loop (m, , x) <body = b (int64 i, bool c, float v) => (bool d, float w, float r) {
     d = Identity(c)
     one = Constant<value = float {1.0}>()
     w = Add(v, one)
     t = Cast<to=1>(i)
     r = Add(v, t)
  }>
}"""

SUMS = """agraph (float[n, 2] x) => (float[2] y, float[n, 2] rows) {
  zero = Constant<value = float[2] {0.0, 0.0}>()
  y, rows = Scan <num_scan_inputs=1, body =
     b (float[2] v, float[2] r) => (float[2] w, float[2] s) {
     w = Add(v, r)
     s = Identity(w)
  }>(zero, x)
}"""


@pytest.mark.parametrize("trips", [0, 63, 64, 65, 200])
def test_rows_are_collected_in_chunks(trips: int) -> None:
    expected = [float(trips), np.arange(trips) * 2.0]
    check(imported(COUNTING), (np.int64(trips), np.float32(0)), expected)


@pytest.mark.parametrize("length", [0, 1, 256, 257, 600])
def test_rows_of_a_length_known_by_symbol_keep_it(length: int) -> None:
    module = imported(SUMS)
    x = np.ones((length, 2), np.float32)
    check(module, (x,), [[length, length], np.cumsum(x, axis=0)])
    assert str(module.by_name["main"].result) == "(f32[2], f32[n, 2])"


def test_collecting_copies_no_row_once_for_each_trip() -> None:
    session = Session(compile_module(imported(COUNTING)))
    written = []
    for trips in (1000, 4000):
        session.run("main", np.int64(trips), np.float32(0))
        records = [r for r in session.trace if "scatter_nd" in r.ops]
        written.append(sum(r.bytes for r in records) / trips)
    assert written[1] < 3 * written[0]


def test_the_eighth_version_of_scan_walks_over_each_item_of_a_batch() -> None:
    body = parser.parse_graph(
        "b (float[2] v, float[2] x) => (float[2] w, float[2] r) { w = Add(v, x)  r = Identity(w) }"
    )
    node = helper.make_node(
        "Scan", ["lengths", "s", "x"], ["t", "rows"], num_scan_inputs=1, body=body
    )
    names = {"lengths": TensorProto.INT64, "s": TensorProto.FLOAT, "x": TensorProto.FLOAT}
    dims: dict[str, list[Any]] = {"lengths": ["b"], "s": ["b", 2], "x": ["b", 3, 2]}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, kind, dims[n]) for n, kind in names.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("t", "rows")],
    )
    module = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)]))
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    rows = np.cumsum(x, axis=1)
    rows[0, 2:] = 0
    start = np.zeros((2, 2), np.float32)
    check(module, (np.array([2, 3]), start, x), [[rows[0, 1], rows[1, 2]], rows])


def test_scans_of_different_lengths_are_refused() -> None:
    text = SCAN.replace("float[n, 5] z", "float[6, 5] z").replace("float[3, n] x", "float[3, 7] x")
    with pytest.raises(CompileError, match=r"lengths \[6, 7\]"):
        imported(text)


def test_an_error_of_a_trip_names_the_operator() -> None:
    text = """agraph (int64 m, float[n] x) => (float y) {
      zero = Constant<value = float {0.0}>()
      y = Loop (m, , zero) <body =
      b (int64 i, bool c, float v) => (bool d, float w) {
         d = Identity(c)
         e = Gather<axis=0>(x, i)
         w = Add(v, e)
      }>
    }"""
    module = imported(text)
    check(module, (np.int64(3), X), [3.0])
    with pytest.raises(ExecutionError, match="index"):
        results(module, np.int64(4), X)


def test_a_body_that_changes_a_dtype_is_refused() -> None:
    text = """agraph (int64 m, float x) => (float y) {
      y = Loop (m, , x) <body =
      b (int64 i, bool c, float v) => (bool d, double w) {
         d = Identity(c)
         w = Cast<to=11>(v)
      }>
    }"""
    with pytest.raises(CompileError, match="carries f32 into a trip and f64 out"):
        imported(text)


def test_the_installed_onnx_reads_what_is_exported() -> None:
    onnx.checker.check_model(to_onnx(imported(NESTED)), full_check=True)
