"""Whatever an ONNX model holds, the importer returns a module or refuses it with diagnostics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper

from reference_vm.diagnostics import CompileError
from reference_vm.exchange import from_onnx
from reference_vm.ir.nodes import Module
from tests.unit.exchange.models import BOOL, I64, branch, model, single, tensor, value

PATIENT = settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def shapes() -> ModelProto:
    """Return a model that computes a shape and reshapes."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Mul", ["n", "n"], ["m"]),
        helper.make_node("Concat", ["m", "minus"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["r"]),
        helper.make_node("Slice", ["r", "zero", "minus"], ["y"]),
    ]
    constants = {"zero": np.array([0]), "minus": np.array([-1])}
    return model(nodes, [value("x", ["n", 2, 3])], [value("y", None)], initializers=constants)


def branching() -> ModelProto:
    then = branch([helper.make_node("Abs", ["x"], ["t"])], [value("t", [3])])
    orelse = branch([helper.make_node("Concat", ["x", "x"], ["e"], axis=0)], [value("e", [3])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=orelse)
    return model([node], [value("c", [], BOOL), value("x", [3])], [value("y", None)])


def convolution() -> ModelProto:
    weights = np.ones((2, 3, 3, 3), np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1], group=1),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], ceil_mode=1),
        helper.make_node("Pad", ["p", "pads"], ["q"], mode="constant"),
        helper.make_node("ReduceMean", ["q", "axes"], ["y"], keepdims=0),
    ]
    constants: dict[str, Any] = {
        "w": weights,
        "pads": np.zeros(8, np.int64),
        "axes": np.array([2, 3]),
    }
    inputs = [value("x", ["n", 3, 16, 16])]
    return model(nodes, inputs, [value("y", None)], initializers=constants)


def functions() -> ModelProto:
    body = [helper.make_node("Constant", [], ["one"], value=tensor("t", np.float32(1)))]
    body.append(helper.make_node("Add", ["a", "one"], ["b"]))
    opsets = [helper.make_opsetid("", 21)]
    function = helper.make_function("mine", "F", ["a"], ["b"], body, opsets)
    node = helper.make_node("F", ["x"], ["y"], domain="mine")
    return model(
        [node], [value("x", [3])], [value("y", [3])], domains={"mine": 1}, functions=[function]
    )


def recurrent() -> ModelProto:
    constants = {
        "w": np.ones((1, 8, 3), np.float32),
        "r": np.ones((1, 8, 2), np.float32),
    }
    return single("LSTM", [value("x", [5, 1, 3])], initializers=constants, hidden_size=2)


def split() -> ModelProto:
    return single("Split", [value("x", [6])], outputs=("a", "b"), num_outputs=2, axis=0)


def unsqueezed() -> ModelProto:
    return single("Unsqueeze", [value("x", [6])], initializers={"axes": np.array([0, 2])})


MODELS = [f() for f in (shapes, branching, convolution, functions, recurrent, split, unsqueezed)]
models = st.sampled_from(MODELS)

EXTREMES = [0, 1, -1, 2, 63, 64, 65, 2**31, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63)]
numbers = st.sampled_from(EXTREMES)
floats = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -1.0, 1e30])
words = st.sampled_from(["", "x", "y", "w", "n", "?", "é", "a\nb", "constant", "SAME_UPPER"])
OPERATORS = (
    "Abs Add Concat Conv If Reshape Identity Loop Slice Softmax Split Unsqueeze Flatten Gather Pad"
    " Resize Attention Clip Range TopK ConstantOfShape Tile Expand OneHot ScatterND GRU Einsum"
)
operators = st.sampled_from(OPERATORS.split())


def imports_or_refuses(source: ModelProto | bytes) -> None:
    try:
        found = from_onnx(source)
    except CompileError as error:
        refusal = error
    else:
        assert isinstance(found, Module)
        return
    assert refusal.diagnostics
    assert all(d.code and d.message for d in refusal.diagnostics)


@PATIENT
@given(models, st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6))
def test_changed_bytes_are_imported_or_refused(
    source: ModelProto, edits: list[tuple[int, int]]
) -> None:
    data = bytearray(source.SerializeToString())
    for place, byte in edits:
        data[place % len(data)] = byte
    imports_or_refuses(bytes(data))


@PATIENT
@given(models, st.integers(0, 3000))
def test_cut_bytes_are_imported_or_refused(source: ModelProto, end: int) -> None:
    data = source.SerializeToString()
    imports_or_refuses(data[: end % len(data)])


@PATIENT
@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_imported_or_refused(data: bytes) -> None:
    imports_or_refuses(data)


def fields(message: Any) -> list[tuple[Any, Any]]:
    """Return every scalar field in a message and the messages inside it, with its owner."""
    found, pending = [], [message]
    while pending:
        current = pending.pop()
        for descriptor, content in current.ListFields():
            if descriptor.message_type is None:
                found.append((current, descriptor))
            elif isinstance(content, type(current)) or hasattr(content, "ListFields"):
                pending.append(content)
            else:
                pending.extend(content)
    return found


Change = Callable[[Any, Any], None]


def new_content(name: str, old: Any, draw: Callable[[Any], Any]) -> Any:
    """Return other content of the kind that a field has."""
    if name == "op_type":
        return draw(operators)
    if isinstance(old, bool | int):
        return draw(numbers)
    if isinstance(old, float):
        return draw(floats)
    return draw(words) if isinstance(old, str) else draw(words).encode()


def change(owner: Any, descriptor: Any, draw: Callable[[Any], Any]) -> None:
    """Change one field, or one element of a repeated one; drop it at times."""
    content = getattr(owner, descriptor.name)
    if draw(st.integers(0, 7)) == 0:
        owner.ClearField(descriptor.name)
        return
    try:
        if hasattr(content, "append"):
            index = draw(st.integers(0, len(content) - 1))
            content[index] = new_content(descriptor.name, content[index], draw)
        else:
            setattr(owner, descriptor.name, new_content(descriptor.name, content, draw))
    except (ValueError, TypeError, OverflowError):
        owner.ClearField(descriptor.name)  # protobuf itself does not take the content


@PATIENT
@given(models, st.data())
def test_changed_fields_are_imported_or_refused(source: ModelProto, data: Any) -> None:
    changed = ModelProto()
    changed.CopyFrom(source)
    for _ in range(data.draw(st.integers(1, 4))):
        places = fields(changed)
        owner, descriptor = places[data.draw(st.integers(0, len(places) - 1))]
        change(owner, descriptor, data.draw)
    imports_or_refuses(changed)


@PATIENT
@given(models, st.data())
def test_nodes_dropped_doubled_or_swapped_are_imported_or_refused(
    source: ModelProto, data: Any
) -> None:
    changed = ModelProto()
    changed.CopyFrom(source)
    nodes = list(changed.graph.node)
    order = data.draw(st.lists(st.integers(0, len(nodes) - 1), max_size=len(nodes) + 2))
    del changed.graph.node[:]
    changed.graph.node.extend(nodes[i] for i in order)
    imports_or_refuses(changed)


@PATIENT
@given(
    st.sampled_from(["Mul", "Add", "Div", "Mod", "Max", "Concat"]),
    st.lists(st.sampled_from(EXTREMES), min_size=1, max_size=3),
    st.integers(1, 90),
)
def test_shape_arithmetic_stays_small(op: str, start: list[int], times: int) -> None:
    """A chain of shape arithmetic that squares its operand does not blow up."""
    attrs: dict[str, Any] = {"axis": 0} if op == "Concat" else {}
    nodes = [helper.make_node("Shape", ["x"], ["v0"])]
    nodes.append(helper.make_node("Concat", ["v0", "c"], ["w0"], axis=0))
    nodes += [
        helper.make_node(op, [f"w{i}", f"w{i}"], [f"w{i + 1}"], **attrs) for i in range(times)
    ]
    source = model(
        nodes,
        [value("x", ["n", "m"])],
        [value(f"w{times}", None, I64)],
        initializers={"c": np.array(start, np.int64)},
    )
    imports_or_refuses(source)


def test_a_tensor_of_any_element_type_is_imported_or_refused() -> None:
    for element in range(-1, 60):
        source = ModelProto()
        source.CopyFrom(single("Identity", [value("x", [2])]))
        constant = TensorProto(dims=[2], data_type=max(element, 0), raw_data=b"\1\0")
        node = helper.make_node("Constant", [], ["c"], value=constant)
        source.graph.node.insert(0, node)
        source.graph.node[1].input[0] = "c"
        imports_or_refuses(source)
