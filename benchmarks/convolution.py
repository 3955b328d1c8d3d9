"""Convolutions of real speech models, layer by layer, beside onnxruntime with two threads.

Run it: ``python -m benchmarks.convolution``. The exit code is 1 if a large layer misses its limit;
layers of less than a millisecond are printed only.
"""

from __future__ import annotations

import statistics
import sys
from functools import partial
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper

import reference_vm as rv
from benchmarks.figures import figure
from benchmarks.side_by_side import SETTLE, in_turn, ratio, two_threads, unhampered
from reference_vm.session import Session

LAYERS: Final[
    tuple[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any], float | None], ...]
] = (
    ("first", (1, 1, 901, 161), (128, 1, 3, 3), {"pads": (1, 1, 1, 1)}, 2.2),
    ("widest", (1, 128, 901, 161), (64, 128, 3, 3), {"pads": (1, 1, 1, 1)}, 1.6),
    ("second", (1, 64, 901, 161), (32, 64, 3, 3), {"pads": (1, 1, 1, 1)}, 1.8),
    ("halved", (1, 32, 450, 80), (32, 32, 3, 3), {"pads": (1, 1, 1, 1)}, 1.5),
    ("deep", (1, 64, 22, 40), (64, 64, 3, 3), {"pads": (1, 1, 1, 1)}, None),
    ("pointwise", (1, 512, 84), (128, 512, 1), {}, None),
    ("long kernel", (1, 8, 172, 264), (8, 8, 3, 39), {"pads": (1, 19, 1, 19)}, 1.0),
    ("strided", (1, 8, 172, 264), (32, 8, 5, 5), {"pads": (2, 1, 2, 1), "strides": (1, 3)}, 1.6),
    ("filter bank", (1, 1, 1, 44_100), (36, 1, 1, 256), {"strides": (1, 256)}, None),
    ("resampler", (1, 1, 1, 22_050), (160, 1, 1, 475), {"strides": (1, 441)}, None),
)
"""Name, input, weights, attributes, and how many times as long it may take."""

JUDGED: Final = 1e-3
"""Seconds of onnxruntime from which on a layer is judged."""

ROUNDS: Final = 9

TURN: Final = 0.02
"""Seconds that each runs before the other does."""


def model(x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any]) -> onnx.ModelProto:
    """Return a model of one convolution with a bias."""
    random = np.random.default_rng(0)
    values = {"w": random.standard_normal(w), "b": random.standard_normal(w[0])}
    constants = [
        onnx.numpy_helper.from_array(np.asarray(v, np.float32), name) for name, v in values.items()
    ]
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, x)
    found = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(x))
    graph = helper.make_graph([node], "convolution", [given], [found], constants)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)])


def main() -> int:
    elsewhere = unhampered("benchmarks.convolution")
    if elsewhere is not None:
        return elsewhere
    kept = True
    for name, shape, weights, attributes, most in LAYERS:
        made = model(shape, weights, attributes)
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        ours, theirs = Session(rv.compile(rv.from_onnx(made))), two_threads(made)
        _check(ours.run("main", x), theirs.run(None, {"x": x})[0])
        contenders = {
            "reference_vm": partial(ours.run, "main", x),
            "onnxruntime": partial(theirs.run, None, {"x": x}),
        }
        spent = in_turn(contenders, rounds=ROUNDS, pause=SETTLE, turn=TURN)
        found = ratio(spent, "reference_vm", "onnxruntime")
        medians = {who: statistics.median(times) for who, times in spent.items()}
        listed = ", ".join(f"{who} {seconds * 1e3:.2f} ms" for who, seconds in medians.items())
        print(f"{list(shape)} by {list(weights)}: {listed}")
        limit = most if medians["onnxruntime"] >= JUDGED else None
        kept &= figure(name, found, " times", most=limit)
    return int(not kept)


def _check(ours: Any, theirs: Any) -> None:
    """Raise `AssertionError` unless the results agree: only what is right is timed."""
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    sys.exit(main())
