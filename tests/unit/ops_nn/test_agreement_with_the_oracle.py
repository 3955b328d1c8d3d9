"""What `compute` gives lies within the error that the oracle, written apart, allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.ops.typing import fill_attrs
from reference_vm.oracle.catalog import MEANINGS
from reference_vm.oracle.definition import Operands
from reference_vm.oracle.estimate import Estimate
from reference_vm.oracle.rounding import Rounding
from reference_vm.types import Attrs
from reference_vm.types.arrays import NUMPY, from_numpy

Call = tuple[str, list[Any], dict[str, Any]]


def f(*shape: int, scale: float = 1.0) -> Any:
    """Floats, which a test turns into the dtype at hand."""
    return np.random.default_rng(shape).standard_normal(shape) * scale


def i(*values: int) -> Any:
    return np.array(values, np.int64)


def u8(*shape: int) -> Any:
    return np.random.default_rng(shape).integers(0, 256, shape, dtype=np.uint8)


def pool(**attrs: Any) -> dict[str, Any]:
    return {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1), **attrs}


LSTM_OPERANDS = [f(4, 2, 3), f(2, 20, 3), f(2, 20, 5), f(2, 40), np.array([4, 2], np.int32)]
LSTM_STATES = [f(2, 2, 5), f(2, 2, 5), f(2, 15)]
CALLS: list[Call] = [
    ("conv", [f(2, 4, 6, 5), f(6, 2, 3, 3)], {"group": 2, "pads": (1, 0, 2, 1)}),
    ("conv", [f(1, 2, 9), f(3, 2, 3)], {"dilations": (2,), "strides": (2,)}),
    ("conv", [f(1, 2, 9), f(3, 2, 4)], {"auto_pad": "SAME_LOWER", "strides": (2,)}),
    ("conv_transpose", [f(1, 4, 4, 3), f(4, 3, 3, 2)], {"group": 2, "strides": (2, 3)}),
    ("conv_transpose", [f(1, 2, 4), f(2, 3, 3)], {"strides": (3,), "output_shape": (9,)}),
    (
        "conv_transpose",
        [f(1, 2, 4), f(2, 3, 3)],
        {"strides": (2,), "pads": (1, 0), "output_padding": (1,), "dilations": (2,)},
    ),
    ("conv_transpose", [f(1, 2, 4), f(2, 3, 5)], {"strides": (2,), "auto_pad": "SAME_UPPER"}),
    ("max_pool", [f(2, 3, 7, 6)], pool()),
    ("max_pool", [f(2, 3, 7, 6)], pool(ceil_mode=True)),
    ("max_pool_with_indices", [f(2, 3, 7, 6)], pool(storage_order=1)),
    ("average_pool", [f(2, 3, 7, 6)], pool(ceil_mode=True, count_include_pad=True)),
    ("average_pool", [f(2, 3, 7, 6)], pool()),
    ("lp_pool", [f(2, 3, 7, 6)], pool(p=3)),
    ("softmax", [f(3, 5, scale=9)], {"axis": 0}),
    ("log_softmax", [f(3, 5, scale=9)], {}),
    ("layer_norm", [f(3, 4, 5), f(4, 5), f(4, 5)], {"axis": 1}),
    ("batch_norm", [f(2, 3, 4), f(3), f(3), f(3), np.abs(f(3))], {}),
    ("instance_norm", [f(2, 3, 4, 2), f(3), f(3)], {}),
    ("lrn", [f(2, 5, 3)], {"size": 4, "alpha": 0.5}),
    ("lstm", [*LSTM_OPERANDS, *LSTM_STATES], {"direction": "bidirectional"}),
    ("lstm", [f(4, 2, 3), f(1, 20, 3), f(1, 20, 5)], {"layout": 1, "input_forget": True}),
    (
        "gru",
        [f(4, 2, 3), f(1, 15, 3), f(1, 15, 5), f(1, 30)],
        {"direction": "reverse", "clip": 0.5},
    ),
    ("gru", [f(4, 2, 3), f(1, 15, 3), f(1, 15, 5), f(1, 30)], {"linear_before_reset": True}),
    ("rnn", [f(4, 2, 3), f(1, 5, 3), f(1, 5, 5)], {"activations": ("Softsign",)}),
    ("stft", [f(2, 40), i(7), f(16)], {}),
    ("stft", [f(2, 40, 2), i(7), None, i(15)], {"onesided": False}),
    ("dft", [f(3, 6, 1)], {"onesided": True}),
    ("dft", [f(3, 6, 2), i(8), i(0)], {"inverse": True}),
    ("dft", [f(3, 5, 2)], {"inverse": True, "onesided": True}),
    ("resize", [f(1, 2, 5, 6), None, None, i(1, 2, 7, 4)], {"mode": "linear"}),
    ("resize", [f(5, 6), None, None, i(3, 2)], {"mode": "cubic", "antialias": True}),
    (
        "resize",
        [f(5, 6), None, np.array([0.7, 2.3], np.float32)],
        {"mode": "cubic", "coordinate_transformation_mode": "align_corners"},
    ),
    (
        "resize",
        [f(5, 6), np.array([0.1, 0.2, 1.3, 0.9], np.float32), None, i(7, 4)],
        {
            "mode": "linear",
            "coordinate_transformation_mode": "tf_crop_and_resize",
            "extrapolation_value": 3.0,
        },
    ),
    ("resize", [f(7, 6), None, np.array([0.7, 3.3], np.float32)], {"nearest_mode": "floor"}),
    ("resize", [f(7, 6), None, None, i(4)], {"axes": (-1,), "keep_aspect_ratio_policy": "stretch"}),
    (
        "resize",
        [f(7, 6), None, None, i(11, 9)],
        {"keep_aspect_ratio_policy": "not_larger", "mode": "linear"},
    ),
    ("top_k", [f(3, 7), i(4)], {"axis": 1}),
    ("top_k", [np.array([2.0, np.nan, 2.0, -1.0]), i(3)], {"largest": False}),
    ("nonzero", [np.array([[0.0, 1.0], [np.nan, 0.0]])], {}),
    ("unique", [np.array([3.0, 1.0, 2.0, 3.0, 1.0])], {}),
    ("unique", [np.array([[3.0, 1.0], [2.0, 3.0], [3.0, 1.0]])], {"axis": 0, "sorted": False}),
]

BIASED = [f(3, 2, 3).astype(np.float32), f(3).astype(np.float32)]
SCALES = np.array([[0.3, 0.7, 2, 1], [1, 4, 5, 6], [2, 3, 0.1, 0.2]], np.float32)
OTHER_CALLS: list[Call] = [
    ("conv_integer", [u8(1, 2, 5, 4), u8(3, 2, 2, 2), u8(), u8(3)], {"pads": (1, 1, 0, 0)}),
    ("matmul_integer", [u8(3, 5), u8(5, 4), u8(3), u8(4)], {}),
    ("dynamic_quantize_linear", [f(4, 5).astype(np.float32)], {}),
    ("dynamic_quantize_linear", [np.zeros(3, np.float32)], {}),
    ("quantize_linear", [f(3, 4, scale=50).astype(np.float32), SCALES[0], u8(4)], {}),
    ("dequantize_linear", [u8(3, 4), SCALES[:, :2], None], {"block_size": 2}),
    ("conv", [f(1, 2, 5).astype(np.float32), *BIASED], {}),
    ("max_pool", [u8(1, 2, 5, 4)], pool()),
]


def check(name: str, operands: list[Any], attrs: dict[str, Any]) -> None:
    filled = fill_attrs(OPS[name], Attrs(attrs))
    exact = [None if v is None else Estimate.exact(v, from_numpy(v.dtype)) for v in operands]

    found = OPS[name].compute(np, *operands, **filled)

    with np.errstate(all="ignore"):
        meant = MEANINGS[name](Operands(tuple(exact), filled, Rounding()))
    pairs = zip(found, meant, strict=True) if isinstance(meant, tuple) else [(found, meant)]
    for array, estimate in pairs:
        assert isinstance(estimate, Estimate)
        assert from_numpy(array.dtype) == estimate.dtype
        assert array.shape == estimate.value.shape
        wrong = np.abs(array.astype(estimate.value.dtype) - estimate.value)
        same = (array == estimate.value) | (
            np.isnan(wrong) & np.isnan(estimate.value.astype(float))
        )
        assert np.all(same | (wrong <= estimate.errors)), (
            f"{name}: off by {np.max(np.where(same, 0, wrong))}"
        )


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_floats(call: Call, dtype: str) -> None:
    name, operands, attrs = call
    chosen = [
        v.astype(NUMPY[dtype]) if v is not None and v.dtype == np.float64 else v for v in operands
    ]
    check(name, chosen, attrs)


@pytest.mark.parametrize("call", OTHER_CALLS, ids=lambda call: call[0])
def test_integers_and_biases(call: Call) -> None:
    check(*call)
