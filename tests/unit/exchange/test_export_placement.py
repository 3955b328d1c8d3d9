"""Requests of a program become device configurations of ONNX; what cannot be said is listed."""

from __future__ import annotations

import onnx
import onnxruntime
from onnx import ModelProto

from reference_vm.exchange import to_onnx, to_placed_onnx
from reference_vm.exchange.export_placement import CONFIGURATION
from reference_vm.text import parse

DEVICES = ("cpu:0", "sim:0")
ROLES = {"host": "cpu:0", "accel": "sim:0"}


def placed(
    body: str, signature: str = "(%x: f32[2]) -> f32[2]", default: str | None = None
) -> tuple[ModelProto, tuple[str, ...]]:
    text = f"module {{ vdevice @host, @accel fn @main{signature} {{ {body} }} }}"
    return to_placed_onnx(parse(text), "main", DEVICES, ROLES, default)


def places(model: ModelProto) -> dict[str, dict[str, list[int]]]:
    """Return the devices of each tensor that each node speaks of, by the node's first output."""
    return {
        node.output[0]: {
            spec.tensor_name: list(spec.device)
            for found in node.device_configurations
            for spec in found.sharding_spec
        }
        for node in model.graph.node
    }


def test_a_requested_operator_has_all_its_tensors_on_its_device() -> None:
    model, unsaid = placed("%s = exp(%x) @accel %y = add(%s, %x) @host return %y")

    assert places(model) == {"s": {"x": [1], "s": [1]}, "y": {"s": [0], "x": [0], "y": [0]}}
    (configuration,) = model.configuration
    assert (configuration.name, configuration.num_devices) == (CONFIGURATION, 2)
    assert tuple(configuration.device) == DEVICES
    assert unsaid == ()


def test_every_node_of_an_operator_that_takes_several_is_placed() -> None:
    model, _ = placed("%y = not_equal(%x, %x) @accel return %y", "(%x: f32[2]) -> bool[2]")

    assert len(model.graph.node) > 1
    assert all(set(map(tuple, found.values())) == {(1,)} for found in places(model).values())


def test_a_copy_places_what_it_makes_alone() -> None:
    model, _ = placed("%s = device_copy(%x) @accel %y = exp(%s) @accel return %y")

    assert places(model)["s"] == {"s": [1]}


def test_what_nothing_places_is_left_open_or_on_the_one_device_for_all() -> None:
    body = "%s = exp(%x) @accel %y = exp(%s) return %y"

    assert places(placed(body)[0])["y"] == {}
    assert places(placed(body, default="cpu:0")[0])["y"] == {"s": [0], "y": [0]}


def test_branches_and_functions_written_out_are_placed_inside() -> None:
    body = "%y = if %c { %a = exp(%x) @accel yield %a } else { yield %x } return %y"
    model, _ = placed(body, "(%x: f32[2], %c: bool[]) -> f32[2]")

    (branch,) = [n for n in model.graph.node if n.op_type == "If"]
    then = next(a.g for a in branch.attribute if a.name == "then_branch")
    assert [list(n.device_configurations[0].sharding_spec[0].device) for n in then.node] == [[1]]


def test_what_onnx_cannot_say_is_listed() -> None:
    body = "%h = hint_on_device(%x) @accel %y = exp(%h) return %y"
    _, unsaid = placed(body, "(%x: f32[2] @accel) -> f32[2] @host")

    assert unsaid == (
        "the place of a parameter: @main, %x @accel",
        "the place of a result: @main, @host",
        "that a request is a hint: function @main, %h",
    )


def test_placed_models_are_valid_and_run() -> None:
    model, _ = placed("%s = exp(%x) @accel %y = add(%s, %x) @host return %y")

    onnx.checker.check_model(model, full_check=True)
    onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_models_without_places_say_nothing_of_devices() -> None:
    text = "module { vdevice @a fn @main(%x: f32[2]) -> f32[2] { %y = exp(%x) @a return %y } }"
    model = to_onnx(parse(text))

    assert not model.configuration
    assert not any(node.device_configurations for node in model.graph.node)
