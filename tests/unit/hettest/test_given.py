"""What a test gives to ``het.check`` is refused in its own words, before anything is run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hettest.errors import UsageError
from hettest.runner.het import Het, HetFailure
from tests.unit.hettest.case.written import PROGRAM
from tests.unit.hettest.fake_backend import Backend

A = np.arange(4, dtype=np.float32)
B = np.full(4, 3, np.float32)
PAIR = ("cpu:0", "sim:0")
PAIRS = """
module {
  vdevice @host
  fn @main(%p: (f32[4], f32[4])) -> (f32[4], f32[4]) {
    return %p
  }
}
"""


@pytest.mark.parametrize("args", [{"b": B, "a": A}, {"%a": A, "%b": B}, [A, B]])
def test_arguments_are_given_by_name_or_in_order(args: object) -> None:
    report = Het(Backend()).check(PROGRAM, args, on=PAIR)  # type: ignore[arg-type]

    np.testing.assert_array_equal(report.results, (A + B) - A * B)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"a": A}, r"found arguments %a; @main takes %a, %b"),
        ({"a": A, "c": B}, r"found arguments %a, %c; @main takes %a, %b"),
        ((A,), r"found 1 arguments; @main takes %a, %b"),
        (np.stack([A, B]), r"found a ndarray for the arguments"),
        ((A, [1, 2, 3, 4]), r"argument %b of @main: found a list, expected an array f32\[4\]"),
        ((A, 3.0), r"argument %b of @main: found a float, expected an array"),
        ((A, np.ones(4)), r"argument %b of @main: found float64\[4\], expected f32\[4\]"),
        ((np.ones((4, 1), np.float32), B), r"%a of @main: found float32\[4, 1\], expected f32"),
    ],
)
def test_wrong_arguments_name_the_parameter(args: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Het(Backend()).check(PROGRAM, args, on=PAIR)  # type: ignore[arg-type]


def test_an_item_of_a_tuple_is_looked_at_too() -> None:
    with pytest.raises(UsageError, match=r"%p of @main: found float64\[4\], expected f32"):
        Het(Backend()).check(PAIRS, ((A, np.ones(4)),), on="cpu")
    with pytest.raises(UsageError, match=r"%p of @main: found float32\[4\], expected a tuple"):
        Het(Backend()).check(PAIRS, (A,), on="cpu")


def test_a_model_that_is_not_there_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"found no file missing\.onnx"):
        Het(Backend()).check("missing.onnx", (A,), on="cpu")


def test_a_model_at_fault_is_refused_with_its_diagnostic(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    node = helper.make_node("Nonsense", ["x"], ["y"])
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:]))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())

    for source in (path, str(path), path.read_bytes(), b"no model"):
        with pytest.raises(HetFailure, match=r"the model is refused:\n(.*\n)*.*error\["):
            Het(Backend()).check(source, (A,), on="cpu")


def test_something_else_is_no_program() -> None:
    with pytest.raises(UsageError, match="found a int for a program"):
        Het(Backend()).check(3, (A,), on="cpu")  # type: ignore[arg-type]
