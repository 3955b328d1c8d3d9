"""Runs the stored suites of the onnx package and says how each test ends.

``python -m tests.contract.onnx_suites`` writes the file that the test compares with. The suites are
``simple``, ``pytorch-converted`` and ``pytorch-operator``, models with inputs and outputs, and
``light``: nine networks whose weights are made in the graph, run on a ramp from 0 to 1. Outcomes
are those of `onnx_nodes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test import loader

from tests.contract.onnx_nodes import Result, lines, result

EXPECTED: Final = Path(__file__).parent / "onnx_suite_tests.tsv"

KINDS: Final = ("simple", "pytorch-converted", "pytorch-operator", "real")
"""As onnx's loader knows them; the networks of ``light`` are its ``real`` ones."""


class Case(NamedTuple):
    """A stored test in the form of a node test."""

    name: str
    model: Any
    data_sets: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float


def results() -> Iterator[Result]:
    """Yield the result of every stored test, by suite and name."""
    for kind in KINDS:
        for test in sorted(loader.load_model_tests(kind=kind), key=lambda t: str(t.name)):
            found = result(_case(test))
            suite = "light" if kind == "real" else kind
            yield found._replace(name=f"{suite}/{test.name}")


def _case(test: Any) -> Case:
    if test.model_dir is None:
        return _light(test)
    folder = Path(test.model_dir)
    model = onnx.load(folder / "model.onnx")
    sets = [
        (_values(data, "input", model.graph.input), _values(data, "output", model.graph.output))
        for data in sorted(folder.glob("test_data_set_*"))
    ]
    return Case(test.name, model, sets, test.rtol, test.atol)


def _values(folder: Path, word: str, entries: Any) -> list[Any]:
    """Return the inputs or outputs stored in a folder, in the order of their numbers."""
    count = len(list(folder.glob(f"{word}_*.pb")))
    stored = [(folder / f"{word}_{number}.pb").read_bytes() for number in range(count)]
    return [_value(data, entry) for data, entry in zip(stored, entries, strict=False)]


def _value(data: bytes, entry: Any) -> Any:
    if entry.type.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    return numpy_helper.to_array(TensorProto.FromString(data))


def _light(test: Any) -> Case:
    path = Path(loader.DATA_DIR) / "light" / Path(test.url).name
    model = onnx.load(path)
    backed = {tensor.name for tensor in model.graph.initializer}
    inputs = [_ramp(entry) for entry in model.graph.input if entry.name not in backed]
    stored = path.with_name(f"{path.stem}_output_0.pb").read_bytes()
    outputs = [numpy_helper.to_array(TensorProto.FromString(stored))]
    return Case(test.name, model, [(inputs, outputs)], test.rtol, test.atol)


def _ramp(entry: Any) -> Any:
    kind = entry.type.tensor_type
    shape = [dim.dim_value for dim in kind.shape.dim]
    count = int(np.prod(shape))
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    return (np.arange(count).astype(np.float32) / count).reshape(shape).astype(dtype)


if __name__ == "__main__":
    EXPECTED.write_text("".join(lines(results())), encoding="utf-8")
