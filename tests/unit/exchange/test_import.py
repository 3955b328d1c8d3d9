from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, external_data_helper, helper, save

from reference_vm.diagnostics import CompileError
from reference_vm.exchange import from_onnx
from reference_vm.ir.nodes import Binding, Block, Call, Function
from reference_vm.types import ShapeType, TensorType, TupleType
from reference_vm.types.dtype import F32 as OUR_F32
from tests.unit.exchange.evaluation import evaluate
from tests.unit.exchange.models import BOOL, I64, branch, model, single, tensor, value

VECTOR = np.array([1, -2, 3], np.float32)


def main(source: object) -> Function:
    return from_onnx(source).by_name["main"]  # type: ignore[arg-type]


def calls(block: Block) -> list[str]:
    return [b.value.op for b in block.bindings() if isinstance(b.value, Call)]


def test_names_of_inputs_and_results_are_kept() -> None:
    node = helper.make_node("Abs", ["enc/x:0"], ["enc/y:0"])
    function = main(model([node], [value("enc/x:0", [3])], [value("enc/y:0", [3])]))
    assert [p.name for p in function.params] == ["enc/x:0"]
    assert function.body.result.name == "enc/y:0"


def test_a_translation_of_several_calls_is_named_after_the_result() -> None:
    module = from_onnx(single("ReduceL2", [value("x", [3])], keepdims=0, opset=13))
    names = [b.var.name for b in module.by_name["main"].body.bindings()]
    assert names == ["y.square", "y.sum", "y"]


def test_symbols_come_from_dim_params_and_unnamed_dims_get_their_own() -> None:
    function = main(single("Abs", [value("x", ["batch size", None, 4, "batch size"])]))
    assert str(function.params[0].type) == "f32[batch_size, d0, 4, batch_size]"


@pytest.mark.parametrize(
    ("text", "symbol"),
    [("if", "if0"), ("f32", "f0"), ("8x", "d_8x"), ("n+1", "n_1"), ("%", "d"), ("min", "min0")],
)
def test_dim_params_become_names_that_the_grammar_takes(text: str, symbol: str) -> None:
    function = main(single("Abs", [value("x", [text])]))
    assert str(function.params[0].type) == f"f32[{symbol}]"


def test_two_dim_params_never_share_a_symbol() -> None:
    function = main(single("Abs", [value("x", ["n-1", "n+1", "n_1"])]))
    assert isinstance(function.params[0].type, TensorType)
    assert len(set(function.params[0].type.shape or ())) == 3


def test_an_input_without_a_shape_has_unknown_rank() -> None:
    function = main(single("Abs", [value("x", None)]))
    assert function.params[0].type == TensorType(OUR_F32, None)


def test_initializers_listed_as_inputs_are_no_parameters() -> None:
    node = helper.make_node("Add", ["w", "x"], ["y"])
    source = model(
        [node], [value("w", [3]), value("x", [3])], [value("y", [3])], initializers={"w": VECTOR}
    )
    function = main(source)
    assert [p.name for p in function.params] == ["x"]
    np.testing.assert_array_equal(evaluate(from_onnx(source), [VECTOR]), VECTOR * 2)


def test_initializers_that_nothing_reads_are_dropped() -> None:
    node = helper.make_node("Abs", ["x"], ["y"])
    source = model([node], [value("x", [3])], [value("y", [3])], initializers={"w": VECTOR})
    assert [b.var.name for b in main(source).body.bindings()] == ["y"]


def test_several_outputs_become_a_tuple_in_order() -> None:
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])]
    source = model(nodes, [value("x", [3])], [value("b", [3]), value("a", [3])])
    assert isinstance(main(source).result, TupleType)
    b, a = evaluate(from_onnx(source), [VECTOR])
    np.testing.assert_array_equal(b, -VECTOR)
    np.testing.assert_array_equal(a, abs(VECTOR))


def test_shape_arithmetic_keeps_symbols() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        helper.make_node("Concat", ["n1", "minus"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    constants: dict[str, npt.ArrayLike] = {
        "zero": np.int64(0),
        "axes": np.array([0]),
        "minus": np.array([-1]),
    }
    source = model(nodes, [value("x", ["n", 2, 3])], [value("y", None)], initializers=constants)
    assert str(main(source).result) == "f32[n, 6]"
    found = evaluate(from_onnx(source), [np.ones((4, 2, 3), np.float32)])
    assert found.shape == (4, 6)


def test_defaults_come_from_the_schema_of_the_opset() -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    old = evaluate(from_onnx(single("Softmax", [value("x", [1, 2, 3])], opset=9)), [x])
    new = evaluate(from_onnx(single("Softmax", [value("x", [1, 2, 3])], opset=13)), [x])
    assert old.sum() == pytest.approx(1)
    assert new.sum() == pytest.approx(2)


def test_axes_are_an_attribute_in_old_operator_sets_and_an_input_in_new_ones() -> None:
    old = single("Squeeze", [value("x", [1, 3])], axes=[0], opset=11)
    new = single("Squeeze", [value("x", [1, 3])], initializers={"axes": np.array([0])})
    assert str(main(old).result) == str(main(new).result) == "f32[3]"


def test_constants_of_every_form_are_translated() -> None:
    forms: dict[str, Any] = {
        "value": tensor("t", np.array([1.5], np.float32)),
        "value_float": 2.5,
        "value_floats": [3.5, 4.5],
    }
    for name, content in forms.items():
        node = helper.make_node("Constant", [], ["c"], **{name: content})
        add = helper.make_node("Add", ["x", "c"], ["y"])
        source = model([node, add], [value("x", [2])], [value("y", [2])])
        found = evaluate(from_onnx(source), [np.zeros(2, np.float32)])
        expected = np.asarray(content if name != "value" else 1.5, np.float32)
        np.testing.assert_array_equal(found, np.broadcast_to(expected, 2))


def test_the_functions_of_a_model_are_inlined() -> None:
    body = [
        helper.make_node("Constant", [], ["one"], value_float=1.0),
        helper.make_node("Add", ["a", "one"], ["sum"]),
        helper.make_node("LeakyRelu", ["sum"], ["b"]),
    ]
    body[2].attribute.add(name="alpha", ref_attr_name="slope", type=1)
    opset = [helper.make_opsetid("", 21)]
    function = helper.make_function("mine", "F", ["a"], ["b"], body, opset, ["slope"])
    nodes = [
        helper.make_node("F", ["x"], ["h"], domain="mine", slope=0.5),
        helper.make_node("F", ["h"], ["y"], domain="mine", slope=0.25),
    ]
    source = model(
        nodes, [value("x", [3])], [value("y", [3])], domains={"mine": 1}, functions=[function]
    )
    names = [b.var.name for b in main(source).body.bindings()]
    assert names == ["h/one", "h/sum", "h", "y/one", "y/sum", "y"]
    found = evaluate(from_onnx(source), [np.array([-5], np.float32).repeat(3)])
    np.testing.assert_array_equal(found, [-0.25] * 3)


def test_bodies_that_onnx_publishes_are_inlined() -> None:
    source = single("MeanVarianceNormalization", [value("x", [2, 2, 2, 2])], opset=13)
    x = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)
    found = evaluate(from_onnx(source), [x])
    mean, deviation = x.mean((0, 2, 3), keepdims=True), x.std((0, 2, 3), keepdims=True)
    np.testing.assert_allclose(found, (x - mean) / deviation, rtol=1e-5)


def test_branches_read_values_around_them() -> None:
    then = branch([helper.make_node("Abs", ["x"], ["t"])], [value("t", [3])])
    orelse = branch([helper.make_node("Identity", ["h"], ["e"])], [value("e", [3])])
    nodes = [
        helper.make_node("Neg", ["x"], ["h"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=orelse),
    ]
    source = model(nodes, [value("c", [], BOOL), value("x", [3])], [value("y", [3])])
    module = from_onnx(source)
    assert str(module.by_name["main"].result) == "f32[3]"
    for condition, expected in ((True, abs(VECTOR)), (False, -VECTOR)):
        found = evaluate(module, [np.array(condition), VECTOR])
        np.testing.assert_array_equal(found, expected)


def test_branches_of_different_shapes_join_to_unknown_dims() -> None:
    then = branch([helper.make_node("Concat", ["x", "x"], ["t"], axis=0)], [value("t", [6])])
    orelse = branch([helper.make_node("Abs", ["x"], ["e"])], [value("e", [3])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=orelse)
    source = model([node], [value("c", [], BOOL), value("x", [3])], [value("y", [None])])
    assert str(main(source).result) == "f32[?]"


def test_known_inputs_become_constants() -> None:
    inputs = [value("x", [2, 3]), value("axes", [1], I64)]
    source = single("ReduceSum", inputs, keepdims=0)
    with pytest.raises(CompileError, match=r"axes .* must be known before the run"):
        from_onnx(source)
    module = from_onnx(source, {"axes": np.array([1])})
    assert [p.name for p in module.by_name["main"].params] == ["x"]
    assert str(module.by_name["main"].result) == "f32[2]"


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({"nothing": np.array([1])}, 'no input "nothing"'),
        ({"axes": np.array([1, 2])}, r"known as int64\[2\], expected i64\[1\]"),
        ({"axes": np.array([1.0])}, "known as float64"),
    ],
)
def test_known_inputs_must_fit(known: dict[str, npt.NDArray[Any]], reason: str) -> None:
    source = single("ReduceSum", [value("x", [2, 3]), value("axes", [1], I64)])
    with pytest.raises(CompileError, match=reason):
        from_onnx(source, known)


def test_a_path_and_bytes_and_a_model_are_the_same_model(tmp_path: Path) -> None:
    source = single("Abs", [value("x", [3])])
    path = tmp_path / "m.onnx"
    path.write_bytes(source.SerializeToString())
    texts = {str(main(s).body) for s in (source, source.SerializeToString(), path, str(path))}
    assert len({t.split(" object at ")[0] for t in texts}) == 1


def test_external_data_is_read_from_the_folder_of_the_model(tmp_path: Path) -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    weights = np.arange(500, dtype=np.float32)
    source = model([node], [value("x", [500])], [value("y", [500])], initializers={"w": weights})
    external_data_helper.convert_model_to_external_data(source, location="w.bin", size_threshold=0)
    path = tmp_path / "m.onnx"
    save(source, path)
    assert (tmp_path / "w.bin").stat().st_size >= 2000
    found = evaluate(from_onnx(path), [np.zeros(500, np.float32)])
    np.testing.assert_array_equal(found, weights)


def test_every_encoding_of_a_tensor_gives_the_same_constant() -> None:
    cases: list[tuple[int, npt.NDArray[Any]]] = [
        (TensorProto.FLOAT16, np.array([1.5, -2], np.float16)),
        (TensorProto.INT8, np.array([-3, 4], np.int8)),
        (TensorProto.UINT64, np.array([2**63, 1], np.uint64)),
        (TensorProto.BOOL, np.array([True, False])),
        (TensorProto.DOUBLE, np.array([0.1, np.inf])),
    ]
    for element, array in cases:
        raw = tensor("c", array)
        fields = helper.make_tensor("c", element, array.shape, array)
        assert raw.HasField("raw_data")
        assert not fields.HasField("raw_data")
        for encoded in (raw, fields):
            node = helper.make_node("Constant", [], ["c"], value=encoded)
            source = model([node], [], [value("c", None, element)])
            np.testing.assert_array_equal(evaluate(from_onnx(source), []), array)


def test_shape_values_stay_typed() -> None:
    function = main(single("Shape", [value("x", ["n", 3])]))
    first = next(iter(function.body.bindings()))
    assert isinstance(first, Binding)
    assert isinstance(first.var.type, ShapeType)
    assert calls(function.body) == ["shape_of", "shape_to_tensor"]


def test_a_branch_that_shapes_decide_is_translated_alone() -> None:
    then = branch([helper.make_node("Squeeze", ["x", "axis"], ["t"])], [value("t", ["n"])])
    orelse = branch([helper.make_node("Identity", ["x"], ["e"])], [value("e", None)])
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["d"]),
        helper.make_node("Equal", ["d", "one"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=orelse),
    ]
    constants: dict[str, npt.ArrayLike] = {"one": np.int64(1), "axis": [1]}
    for size, rank in ((1, 1), (3, 2)):
        source = model(nodes, [value("x", ["n", size])], [value("y", None)], initializers=constants)
        result = main(source).result
        assert isinstance(result, TensorType)
        assert result.rank == rank


def test_an_axis_of_an_operand_of_unknown_rank_is_left_as_it_is() -> None:
    source = single("Concat", [value("x", None), value("z", None)], axis=-1)
    ones, zeros = np.ones((2, 1), np.float32), np.zeros((2, 2), np.float32)
    found = evaluate(from_onnx(source), [ones, zeros])
    assert found.shape == (2, 3)
