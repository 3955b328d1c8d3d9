"""Imported programs are placed by the names of their nodes, too; what matches nothing says what is
near."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, helper

import reference_vm as rv
from tests.unit.exchange.models import model, value

MAP = "host=cpu:0,accel=sim:0"


def two_layers() -> ModelProto:
    nodes = [
        helper.make_node("Exp", ["x"], ["t1"], name="/layer.0/Exp"),
        helper.make_node("Gelu", ["t1"], ["t2"], name="/layer.1/Gelu"),
        helper.make_node("Neg", ["t2"], ["t3"]),
        helper.make_node("Own", ["t3"], ["y"], name="/layer.2/Own", domain="own"),
    ]
    body = [
        helper.make_node("Sin", ["a"], ["b"], name="Sin"),
        helper.make_node("Cos", ["b"], ["c"]),
    ]
    function = helper.make_function("own", "Own", ["a"], ["c"], body, [helper.make_opsetid("", 21)])
    return model(
        nodes, [value("x", [4])], [value("y", [4])], domains={"own": 1}, functions=[function]
    )


def places(pattern: str) -> dict[str, set[str]]:
    """Return which operators run on the host and which on the accelerator."""
    program = rv.compile(rv.from_onnx(two_layers()), MAP, default="host", place=pattern, fuse=False)
    session = rv.Session(program)
    session.run("main", np.ones(4, np.float32))
    found: dict[str, set[str]] = {"cpu:0": set(), "sim:0": set()}
    for record in session.trace:
        if record.kind in ("kernel", "library"):
            found[record.device].add(record.op)
    return found


@pytest.mark.parametrize(
    ("pattern", "moved"),
    [
        ("/layer.0/*=accel", {"exp"}),
        ("/layer.2/Own*=accel", {"sin", "cos"}),
        ("/layer.2/Own/Sin=accel", {"sin"}),
        ("t3=accel", {"negative"}),
    ],
)
def test_a_pattern_fits_the_node_or_the_value(pattern: str, moved: set[str]) -> None:
    assert places(pattern)["sim:0"] == moved


def test_a_node_that_is_several_operators_moves_as_a_whole() -> None:
    found = places("/layer.1/*=accel")
    assert found["cpu:0"] == {"exp", "negative", "sin", "cos"}
    assert found["sim:0"]


def test_a_pattern_that_fits_nothing_lists_near_names() -> None:
    with pytest.raises(rv.CompileError) as caught:
        rv.compile(rv.from_onnx(two_layers()), MAP, place="/layer.0/Exq=accel")
    (found,) = caught.value.diagnostics
    assert found.code == "placement-pattern"
    assert found.help is not None
    assert "/layer.0/Exp" in found.help


def test_a_role_that_is_nowhere_is_to_be_named_in_the_map() -> None:
    with pytest.raises(rv.CompileError) as caught:
        rv.compile(rv.from_onnx(two_layers()), "host=cpu:0", place="/layer.0/*=accel")
    (found,) = caught.value.diagnostics
    assert (found.code, found.help) == (
        "unknown-vdevice",
        "name it in the device map: accel=cpu:0",
    )
