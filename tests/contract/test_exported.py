"""What is exported in ONNX's layout gives in onnxruntime what its files say."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from hettest.adapters.child import Child
from hettest.case.expansion import Item
from hettest.corpus import Selection, own_cases, select
from hettest.export import as_onnx
from tests.contract import exported

pytest.importorskip("onnxruntime")
DEVICES = ("cpu:0", "sim:0")


def sample(count: int) -> tuple[Item, ...]:
    items = select(own_cases(), DEVICES).items
    return tuple(random.Random(4).sample(items, count))


def test_a_sample_of_all_models_gives_what_its_files_say() -> None:
    found = exported.outcomes(Selection(sample(250), {}), DEVICES)

    assert [f"{e.item}: {e.detail}" for e in found if e.outcome == "failed"] == []
    assert Counter(e.outcome for e in found)["passed"] > 150


def test_a_wrong_output_file_is_found(tmp_path: Path) -> None:
    cases = [c for c in own_cases() if c.id == "placement/shared_input"]
    selection = select(cases, DEVICES)
    index = as_onnx.export(selection, DEVICES, tmp_path / "x", lambda items: items)
    for output in tmp_path.glob("x/**/output_0.pb"):
        tensor = onnx.TensorProto.FromString(output.read_bytes())
        array = onnx.numpy_helper.to_array(tensor).copy()
        array[2] += 1
        output.write_bytes(onnx.numpy_helper.from_array(array, tensor.name).SerializeToString())

    child = Child("tests.contract.exported:Models")
    found = list(exported.ended(index, tmp_path / "x", selection.items, child))
    child.close()

    assert {e.outcome for e in found} == {"failed"}
    assert found[0].detail == "values: element [2] is -2.0, expected -1.0"


@pytest.mark.parametrize(
    ("found", "wanted", "allowed", "wrong"),
    [
        ([1.0], [1.1], 0.2, False),
        ([1.0], [1.1], 0.05, True),
        ([1.0, 2.0], [1.1, 9.0], [0.2, "any"], False),
        ([np.nan], [np.nan], 0, False),
        ([np.nan], [1.0], 1e9, True),
        ([np.inf], [1.0], 1e9, True),
        ([1], [2], 5, True),
    ],
)
def test_outputs_are_held_to_their_bounds(
    found: list[Any], wanted: list[Any], allowed: Any, wrong: bool
) -> None:
    assert bool(exported.difference(np.array(found), np.array(wanted), allowed)) is wrong


def test_models_are_valid_and_say_where_nodes_run(tmp_path: Path) -> None:
    cases = [c for c in own_cases() if c.id == "placement/shared_input"]
    as_onnx.export(select(cases, DEVICES), DEVICES, tmp_path / "x", lambda items: items)
    (first, *_) = json.loads((tmp_path / "x" / "index.json").read_text())["models"]

    model = onnx.load(tmp_path / "x" / first["folder"] / "model.onnx")

    onnx.checker.check_model(model, full_check=True)
    devices = model.configuration[0].device
    placed = {
        node.output[0]: devices[node.device_configurations[0].sharding_spec[0].device[0]]
        for node in model.graph.node
    }
    assert placed == {"s": "cpu:0", "t": "sim:0", "d": "cpu:0"}
    assert "the numbers of transfers" in first["missing"]
