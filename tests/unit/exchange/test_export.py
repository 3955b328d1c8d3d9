"""What is exported computes the same: in onnxruntime, and read back in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.exchange import from_onnx, to_onnx
from reference_vm.exchange.export_graph import RULES
from reference_vm.ir.nodes import Module
from reference_vm.ops.catalog import OPS
from reference_vm.text import parse
from tests.unit.exchange.evaluation import evaluate
from tests.unit.exchange.models import single, value

Array = npt.NDArray[Any]

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def program(body: str, signature: str = "(%x: f32[n, 3]) -> f32[n, 3]", more: str = "") -> Module:
    return parse(f"module {{ vdevice @host, @accel fn @main{signature} {{ {body} }} {more} }}")


def in_onnxruntime(module: Module, *args: Array) -> list[Array]:
    model = to_onnx(module).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return list(session.run(None, dict(zip(names, args, strict=True))))


def check(module: Module, expected: object, *args: Array) -> None:
    """Check the first output against ``expected``, in onnxruntime and read back in."""
    (first, *_) = in_onnxruntime(module, *args)
    found = evaluate(from_onnx(to_onnx(module)), args)
    again = found[0] if isinstance(found, tuple) else found
    for result in (first, again):
        np.testing.assert_allclose(result, np.asarray(expected), rtol=1e-6)


def test_names_are_kept() -> None:
    model = to_onnx(program("%s = add(%x, %x) %y = exp(%s) return %y"))
    assert [i.name for i in model.graph.input] == ["x"]
    assert [n.output[0] for n in model.graph.node] == ["s", "y"]
    assert [o.name for o in model.graph.output] == ["y"]


def test_a_straight_line_with_constants_and_broadcasting() -> None:
    body = "%c = const f32[3] [1.0, 2.0, 3.0] %y = multiply(%x, %c) return %y"
    check(program(body), X * [1, 2, 3], X)


def test_nothing_flipped_is_no_slice() -> None:
    model = to_onnx(program("%y = flip(%x, axes = []) return %y", "(%x: f32[]) -> f32[]"))
    assert [n.op_type for n in model.graph.node] == ["Identity"]


def test_symbolic_shapes_are_computed_in_the_graph() -> None:
    body = "%s = shape [3, floordiv(2*n, 2)] %y = reshape(%x, %s) return %y"
    check(program(body, "(%x: f32[n, 3]) -> f32[3, n]"), X.reshape(3, 2), X)


def test_dims_of_every_form_are_computed() -> None:
    dims = "n*n - 1, ceildiv(n + 2, 3), mod(n, 5) + min(n, 3) * max(n, 4)"
    body = f"%s = shape [{dims}] %y = shape_to_tensor(%s) return %y"
    for n in (2, 7):
        expected = [n * n - 1, -(-(n + 2) // 3), n % 5 + min(n, 3) * max(n, 4)]
        check(program(body, "(%x: f32[n, 3]) -> i64[3]"), expected, np.zeros((n, 3), np.float32))


def test_branches_become_if() -> None:
    body = "%y = if %c { %a = abs(%x) yield %a } else { yield %x } return %y"
    module = program(body, "(%c: bool[], %x: f32[n, 3]) -> f32[n, 3]")
    check(module, abs(X), np.array(True), X)
    check(module, X, np.array(False), X)


def test_an_integer_condition_is_true_unless_it_is_zero() -> None:
    body = "%y = if %c { %a = abs(%x) yield %a } else { yield %x } return %y"
    module = program(body, "(%c: i32[], %x: f32[n, 3]) -> f32[n, 3]")
    check(module, abs(X), np.array(2, np.int32), X)
    check(module, X, np.array(0, np.int32), X)


def test_tuples_are_flattened() -> None:
    body = "%a = %p[0] %b = %p[1] %s = subtract(%a, %b) %r = (%s, %a) return %r"
    module = program(body, "(%p: (f32[n, 3], f32[n, 3])) -> (f32[n, 3], f32[n, 3])")
    found = in_onnxruntime(module, X, X * 3)
    np.testing.assert_array_equal(found[0], X - X * 3)
    np.testing.assert_array_equal(found[1], X)


def test_functions_are_written_out_in_place() -> None:
    body = "%a = @f(%x) %y = @f(%a) return %y"
    more = "fn @f(%v: f32[m, 3]) -> f32[m, 3] { %w = add(%v, %v) return %w }"
    check(program(body, more=more), X * 4, X)


def test_a_result_that_no_node_makes_goes_through_one() -> None:
    check(program("return %x"), X, X)
    twice = program("%y = abs(%x) %r = (%y, %y) return %r", "(%x: f32[3]) -> (f32[3], f32[3])")
    assert len({o.name for o in to_onnx(twice).graph.output}) == 2


def test_placement_is_left_out_and_copies_are_identities() -> None:
    body = "%a = add(%x, %x) @accel %b = device_copy(%a) @host %y = negative(%b) return %y"
    check(program(body), -2 * X, X)


def test_operators_with_several_results() -> None:
    body = "%k = const i64[1] [2] %t = top_k(%x, %k, axis = 1) %v = %t[0] return %v"
    check(program(body, "(%x: f32[n, 3]) -> f32[n, 2]"), [[3, 1], [5, -4]], X)


@pytest.mark.parametrize("dtype", ["i8", "i32", "u8", "f32"])
def test_narrow_integers_wrap_where_onnx_has_no_sum_of_them(dtype: str) -> None:
    x = np.full((2, 3), 100, {"i8": "int8", "i32": "int32", "u8": "uint8", "f32": "float32"}[dtype])
    module = program("%y = sum(%x, axis = [1]) return %y", f"(%x: {dtype}[2, 3]) -> {dtype}[2]")
    check(module, x.sum(1, dtype=x.dtype), x)


@pytest.mark.parametrize(("op", "empty"), [("any", False), ("all", True)])
def test_reductions_of_bools(op: str, empty: bool) -> None:
    body, signature = f"%y = {op}(%x, axis = [1]) return %y", "(%x: bool[n, m]) -> bool[n]"
    x = np.array([[True, True], [True, False], [False, False]])
    check(program(body, signature), getattr(np, op)(x, axis=1), x)
    check(program(body, signature), [empty], np.zeros((1, 0), bool))


def test_a_model_survives_the_way_there_and_back() -> None:
    weights = np.random.default_rng(0).standard_normal((4, 2, 3, 3)).astype(np.float32)
    source = single("Conv", [value("x", ["n", 2, 8, 8])], initializers={"w": weights}, pads=[1] * 4)
    x = np.random.default_rng(1).standard_normal((1, 2, 8, 8)).astype(np.float32)
    module = from_onnx(source)
    found = in_onnxruntime(module, x)[0]
    np.testing.assert_allclose(found, evaluate(module, [x]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("%y = floor_divide(%x, %x) return %y", "rounds down"),
        ("%y = remainder(%x, %x) return %y", "sign of the divisor"),
        ("%y = cumulative_prod(%x, axis = 0) return %y", "no operator for cumulative_prod"),
        ('%w = const f32[3] from "w.safetensors" "k" %y = add(%x, %w) return %y', "weights file"),
    ],
)
def test_what_onnx_cannot_say_is_refused_with_the_reason(body: str, reason: str) -> None:
    with pytest.raises(CompileError, match=reason) as caught:
        to_onnx(program(body))
    assert [d.code for d in caught.value.diagnostics] == ["inexpressible"]


def test_a_recursive_function_is_refused() -> None:
    more = "fn @f(%v: f32[m, 3]) -> f32[m, 3] { %w = @f(%v) return %w }"
    with pytest.raises(CompileError, match="@f calls itself"):
        to_onnx(program("%y = @f(%x) return %y", more=more))


def test_an_unknown_entry_is_refused() -> None:
    with pytest.raises(CompileError, match="no such entry"):
        to_onnx(program("return %x"), entry="other")


def test_every_operator_is_exported_or_known_to_have_no_word() -> None:
    assert OPS.keys() - RULES.keys() == {"cumulative_prod"}
    assert RULES.keys() <= OPS.keys()


def test_integer_division_that_rounds_down_does_not_overflow_on_its_way() -> None:
    body = "%q = floor_divide(%x, %y) return %q"
    signature = "(%x: i32[4], %y: i32[4]) -> i32[4]"
    x = np.array([2**31 - 1, -(2**31), -7, -8], np.int32)
    y = np.array([-2, 3, 2, 2], np.int32)

    check(program(body, signature), [-(2**30), -715827883, -4, -4], x, y)


@pytest.mark.parametrize(("rank", "axes"), [("[2, 3]", "[-1, 0]"), ("[]", "[]")])
def test_axes_are_written_as_onnx_takes_them(rank: str, axes: str) -> None:
    x = X if rank == "[2, 3]" else np.array(X[0, 0])
    turned = "[3, 2]" if rank == "[2, 3]" else "[]"
    body = f"%y = permute_dims(%x, axes = {axes}) return %y"

    check(program(body, f"(%x: f32{rank}) -> f32{turned}"), np.transpose(x), x)


def test_an_attribute_that_f32_does_not_hold_is_not_rounded_for_f64() -> None:
    body = "%y = leaky_relu(%x, alpha = 0.2) return %y"

    with pytest.raises(CompileError, match=r"attributes in f32, in which alpha = 0\.2 is another"):
        to_onnx(program(body, "(%x: f64[2]) -> f64[2]"))
    to_onnx(program(body, "(%x: f32[2]) -> f32[2]"))
