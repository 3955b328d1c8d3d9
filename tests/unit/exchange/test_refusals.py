"""What the importer refuses: one located diagnostic each, whatever the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from reference_vm.diagnostics import CompileError, Diagnostic
from reference_vm.exchange import from_onnx
from tests.unit.exchange.models import F32, I64, branch, model, single, tensor, value


def refused(source: ModelProto | bytes | str | Path) -> Diagnostic:
    with pytest.raises(CompileError) as caught:
        from_onnx(source)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def two_nodes(first: tuple[str, str], second: tuple[str, str]) -> ModelProto:
    nodes = [helper.make_node("Abs", [a], [b], name=f"to_{b}") for a, b in (first, second)]
    return model(nodes, [value("x", [3])], [value("y", [3])])


def with_initializer(change: Callable[[TensorProto], None]) -> ModelProto:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    source = model(
        [node], [value("x", [2])], [value("y", [2])], initializers={"w": np.ones(2, np.float32)}
    )
    change(source.graph.initializer[0])
    return source


def test_a_cut_file_is_no_model() -> None:
    data = single("Abs", [value("x", [3])]).SerializeToString()
    assert refused(data[:-3]).code == "invalid-model"
    assert refused(b"").code == "invalid-model"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    diagnostic = refused(tmp_path / "none.onnx")
    assert diagnostic.code == "invalid-model"
    assert "none.onnx" in diagnostic.message
    assert str(tmp_path) not in diagnostic.message


def test_a_cycle_is_named_at_its_first_node() -> None:
    diagnostic = refused(two_nodes(("y", "h"), ("h", "y")))
    assert diagnostic.code == "invalid-model"
    assert diagnostic.message.startswith('node 0 (Abs "to_h"): reads "y"')
    assert "later node" in diagnostic.message


def test_a_value_that_nothing_makes_is_named() -> None:
    diagnostic = refused(two_nodes(("w", "h"), ("h", "y")))
    assert 'reads "w", which is no input' in diagnostic.message


def test_a_value_made_twice_is_refused() -> None:
    assert (
        'makes "h", which is defined already' in refused(two_nodes(("x", "h"), ("x", "h"))).message
    )


def test_an_output_that_nothing_makes_is_refused() -> None:
    assert 'nothing makes "y"' in refused(two_nodes(("x", "h"), ("h", "k"))).message


@pytest.mark.parametrize(
    ("op", "opset", "code"),
    [
        ("Nope", 21, "unsupported-operator"),
        ("Loop", 21, "invalid-model"),
        ("NonMaxSuppression", 21, "invalid-model"),
        ("Abs", 1, "unsupported-operator"),
        ("Abs", 10_000, "unsupported-operator"),
        ("Abs", -1, "unsupported-operator"),
        ("RandomNormalLike", 21, "nondeterministic"),
        ("Bernoulli", 21, "nondeterministic"),
        ("Upsample", 21, "unsupported-operator"),
    ],
)
def test_operators_are_refused_by_reason(op: str, opset: int, code: str) -> None:
    assert refused(single(op, [value("x", [3])], opset=opset)).code == code


def test_a_loop_that_nothing_ends_is_refused() -> None:
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Neg", ["v"], ["w"])],
        "body",
        [value("i", [], I64), value("c", [], TensorProto.BOOL), value("v", [3])],
        [value("d", [], TensorProto.BOOL), value("w", [3])],
    )
    node = helper.make_node("Loop", ["", "", "x"], ["y"], body=body)
    diagnostic = refused(model([node], [value("x", [3])], [value("y", None)]))
    assert diagnostic.code == "invalid-model"
    assert "neither a number of trips nor a condition" in diagnostic.message


def test_dropout_in_training_is_nondeterministic_unless_nothing_is_dropped() -> None:
    def dropout(ratio: float, training: bool) -> ModelProto:
        constants = {"r": np.float32(ratio), "t": np.bool_(training)}
        return single("Dropout", [value("x", [3])], initializers=constants)

    assert refused(dropout(0.5, True)).code == "nondeterministic"
    from_onnx(dropout(0.0, True))
    from_onnx(dropout(0.5, False))


def test_types_that_are_no_tensors_are_refused() -> None:
    strings = single("Identity", [value("x", [3], TensorProto.STRING)])
    sequence = helper.make_tensor_sequence_value_info("x", F32, None)
    assert "STRING" in refused(strings).message
    assert refused(single("SequenceLength", [sequence])).code == "unsupported-type"
    odd = single("Abs", [value("x", [3], 999)])
    assert refused(odd).code == "unsupported-type"


def test_an_operator_set_must_be_imported() -> None:
    node = helper.make_node("Abs", ["x"], ["y"], domain="elsewhere")
    source = model([node], [value("x", [3])], [value("y", [3])])
    assert "not imported" in refused(source).message


def test_negative_dims_are_refused() -> None:
    assert "a dim of -1" in refused(single("Abs", [value("x", [-1])])).message


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.dims.__setitem__(0, -2),
        lambda t: t.dims.__setitem__(0, 2**62),
        lambda t: t.dims.extend([2**62, 2**62]),
        lambda t: setattr(t, "raw_data", b"\0" * 7),
        lambda t: (t.ClearField("raw_data"), t.float_data.append(1.0)),
        lambda t: t.segment.SetInParent(),
    ],
)
def test_sizes_that_disagree_with_the_data_are_refused(
    change: Callable[[TensorProto], None],
) -> None:
    diagnostic = refused(with_initializer(change))
    assert diagnostic.code == "invalid-model"
    assert 'tensor "w"' in diagnostic.message


def external(location: str, **entries: str) -> Callable[[TensorProto], None]:
    def change(weights: TensorProto) -> None:
        weights.ClearField("raw_data")
        weights.data_location = TensorProto.EXTERNAL
        for key, text in {"location": location, **entries}.items():
            weights.external_data.add(key=key, value=text)

    return change


@pytest.mark.parametrize(
    ("location", "entries"),
    [
        ("../w.bin", {}),
        ("link.bin", {}),
        ("folder", {}),
        ("", {}),
        ("missing.bin", {}),
        ("a\0b", {}),
        ("w.bin", {"offset": "4"}),
        ("w.bin", {"offset": "-1"}),
        ("w.bin", {"offset": "9" * 30}),
        ("w.bin", {"length": "1"}),
    ],
)
def test_external_data_stays_in_the_folder_and_in_the_file(
    tmp_path: Path, location: str, entries: dict[str, str]
) -> None:
    folder = tmp_path / "model"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "w.bin").write_bytes(bytes(8))
    (folder / "w.bin").write_bytes(bytes(8))
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    path = folder / "m.onnx"
    good = with_initializer(external("w.bin"))
    path.write_bytes(good.SerializeToString())
    from_onnx(path)
    path.write_bytes(with_initializer(external(location, **entries)).SerializeToString())
    assert refused(path).code in ("external-data", "invalid-model")


def test_external_data_needs_a_folder() -> None:
    assert refused(with_initializer(external("w.bin"))).code == "external-data"


def test_attributes_are_checked_against_the_schema() -> None:
    def node(**attributes: Any) -> ModelProto:
        return single("LeakyRelu", [value("x", [3])], **attributes)

    assert "attribute alpha is of type INT, expected FLOAT" in refused(node(alpha=1)).message
    assert "has no attribute beta" in refused(node(beta=1.0)).message
    assert "attribute axis is missing" in refused(single("Concat", [value("x", [3])])).message
    twice = node(alpha=1.0)
    twice.graph.node[0].attribute.append(twice.graph.node[0].attribute[0])
    assert "given twice" in refused(twice).message


def test_counts_of_operands_are_checked_against_the_schema() -> None:
    assert "has 1 inputs, expected 2 to 2" in refused(single("Add", [value("x", [3])])).message


def test_what_an_operator_refuses_names_the_node() -> None:
    source = single("Add", [value("x", [3]), value("z", [4])])
    diagnostic = refused(source)
    assert diagnostic.code == "shape-mismatch"
    assert diagnostic.message.startswith("node 0 (Add): add: ")


def test_branches_must_agree() -> None:
    then = branch([helper.make_node("Abs", ["x"], ["t"])], [value("t", [3])])
    orelse = branch([helper.make_node("Shape", ["x"], ["e"])], [value("e", [1], I64)])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=orelse)
    inputs = [value("c", [], TensorProto.BOOL), value("x", [3])]
    diagnostic = refused(model([node], inputs, [value("y", None)]))
    assert "one branch yields f32, the other i64" in diagnostic.message


def test_a_function_that_calls_itself_is_refused() -> None:
    call = helper.make_node("F", ["a"], ["b"], domain="mine")
    function = helper.make_function(
        "mine", "F", ["a"], ["b"], [call], [helper.make_opsetid("mine", 1)]
    )
    source = model(
        [helper.make_node("F", ["x"], ["y"], domain="mine")],
        [value("x", [3])],
        [value("y", [3])],
        domains={"mine": 1},
        functions=[function],
    )
    assert "nest deeper" in refused(source).message


def test_functions_that_multiply_are_refused_before_they_fill_memory() -> None:
    def function(level: int) -> object:
        op, domain = (f"F{level - 1}", "mine") if level else ("Abs", "")
        nodes = [
            helper.make_node(op, ["a" if i == 0 else f"v{i}"], [f"v{i + 1}"], domain=domain)
            for i in range(10)
        ]
        nodes.append(helper.make_node("Abs", ["v10"], ["b"]))
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
        return helper.make_function("mine", f"F{level}", ["a"], ["b"], nodes, opsets)

    source = model(
        [helper.make_node("F12", ["x"], ["y"], domain="mine")],
        [value("x", [3])],
        [value("y", [3])],
        domains={"mine": 1},
        functions=[function(level) for level in range(13)],
    )
    assert "inlining functions makes more than" in refused(source).message


def test_a_declared_output_type_that_is_wrong_is_refused() -> None:
    node = helper.make_node("Abs", ["x"], ["y"])
    source = model([node], [value("x", [3])], [value("y", [3], I64)])
    assert "is declared INT64, but is f32" in refused(source).message


def test_strings_in_constants_are_refused() -> None:
    node = helper.make_node("Constant", [], ["y"], value=tensor("t", np.array(["a"])))
    assert refused(model([node], [], [value("y", None, TensorProto.STRING)])).code == (
        "unsupported-type"
    )
