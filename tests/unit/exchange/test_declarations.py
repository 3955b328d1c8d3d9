"""What a model declares twice must agree: outputs, inner values, and the data of a tensor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper

from reference_vm.exchange import from_onnx
from tests.unit.exchange.models import I64, branch, model, value
from tests.unit.exchange.test_refusals import refused, with_initializer


@pytest.mark.parametrize(
    ("dims", "shown"), [([5], "[5]"), ([2, 2], "[2, 2]"), ([], "[]"), ([None, 4], "[?, 4]")]
)
def test_an_output_of_another_shape_is_refused(dims: list[int | None], shown: str) -> None:
    source = model([helper.make_node("Abs", ["x"], ["y"])], [value("x", [4])], [value("y", dims)])
    found = refused(source)
    assert found.code == "invalid-model"
    assert found.message == f'output "y": is declared {shown}, but is [4]'


@pytest.mark.parametrize("dims", [[4], ["n"], [None], None], ids=str)
def test_an_output_may_be_declared_loosely(dims: list[int | str | None] | None) -> None:
    from_onnx(model([helper.make_node("Abs", ["x"], ["y"])], [value("x", [4])], [value("y", dims)]))


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (value("h", [5]), 'value "h": is declared [5], but is [4]'),
        (value("h", [4], I64), 'value "h": is declared int64, but is f32'),
    ],
    ids=["shape", "element"],
)
def test_a_value_inside_that_is_declared_otherwise_is_refused(
    declared: ValueInfoProto, text: str
) -> None:
    nodes = [helper.make_node("Abs", ["x"], ["h"]), helper.make_node("Neg", ["h"], ["y"])]
    source = model(nodes, [value("x", [4])], [value("y", [4])])
    source.graph.value_info.append(declared)
    found = refused(source)
    assert found.code == "invalid-model"
    assert text.lower() in found.message.lower()


def test_an_output_of_a_branch_is_held_to_its_declaration() -> None:
    then = branch([helper.make_node("Abs", ["x"], ["t"])], [value("t", [5])])
    other = branch([helper.make_node("Neg", ["x"], ["e"])], [value("e", [4])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    source = model([node], [value("c", [], TensorProto.BOOL), value("x", [4])], [value("y", [4])])
    assert 'output "t": is declared [5], but is [4]' in refused(source).message


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda t: t.float_data.extend([1.0, 1.0]), "has data in float_data and in raw_data"),
        (lambda t: t.int64_data.append(1), "has data in int64_data and in raw_data"),
    ],
    ids=["float_data", "int64_data"],
)
def test_data_in_two_places_is_refused(change: Callable[[TensorProto], None], text: str) -> None:
    found = refused(with_initializer(change))
    assert found.code == "invalid-model"
    assert text in found.message


@pytest.mark.parametrize(
    ("element", "stored", "text"),
    [
        (TensorProto.INT8, [300], "has 300 in int32_data, expected -128 to 127 for i8"),
        (TensorProto.INT8, [-129], "has -129 in int32_data"),
        (TensorProto.UINT8, [-1], "has -1 in int32_data, expected 0 to 255 for u8"),
        (TensorProto.UINT16, [1 << 16], "has 65536 in int32_data"),
        (TensorProto.INT16, [1 << 15], "has 32768 in int32_data"),
        (TensorProto.BOOL, [2], "has 2 in int32_data, expected 0 to 1 for bool"),
        (TensorProto.FLOAT16, [1 << 16], "has 65536 in int32_data, expected 0 to 65535 for f16"),
        (TensorProto.FLOAT8E5M2, [256], "has 256 in int32_data"),
        (TensorProto.UINT4, [256], "has 256 in int32_data"),
        (TensorProto.UINT32, [1 << 32], "has 4294967296 in uint64_data"),
    ],
)
def test_a_number_that_its_dtype_cannot_hold_is_refused(
    element: int, stored: list[int], text: str
) -> None:
    def change(t: TensorProto) -> None:
        t.Clear()
        t.name, t.data_type = "w", element
        t.dims.append(1)
        field = t.uint64_data if element == TensorProto.UINT32 else t.int32_data
        field.extend(stored)

    found = refused(with_initializer(change))
    assert found.code == "invalid-model"
    assert text in found.message


def test_the_place_of_a_deep_node_is_short() -> None:
    body = [helper.make_node("F", ["a"], ["b"], domain="own")]
    imports = [helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "F", ["a"], ["b"], body, imports)
    node = helper.make_node("F", ["x"], ["y"], domain="own")
    source = model(
        [node], [value("x", [4])], [value("y", [4])], domains={"own": 1}, functions=[function]
    )
    found = refused(source)
    assert found.code == "unsupported-operator"
    assert found.message.count("node 0 (F)") == 4
    assert "(37 more)" in found.message
    assert found.help == "a function must not call itself"


def test_what_is_no_model_says_what_it_is() -> None:
    assert "is a NoneType, expected a path" in refused(None).message  # type: ignore[arg-type]
    assert refused("a\0b").code == "invalid-model"


def test_elements_of_the_whole_range_are_read() -> None:
    node = helper.make_node("Identity", ["w"], ["y"])
    source = model([node], [], [value("y", [2], TensorProto.INT8)])
    source.graph.initializer.append(
        helper.make_tensor("w", TensorProto.INT8, [2], np.array([-128, 127], np.int8))
    )
    from_onnx(source)
