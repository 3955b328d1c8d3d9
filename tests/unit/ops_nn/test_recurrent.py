"""Recurrent layers agree with onnxruntime in every attribute, and with hand-made sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.definition import OpDef
from reference_vm.ops.recurrent import GRU, LSTM, RNN
from reference_vm.types import DTYPES, TensorType
from reference_vm.types.dim import symbol
from tests.unit.ops_nn.onnx_nodes import (
    array_type,
    by_evaluator,
    by_onnxruntime,
    check_inferred,
    compute,
    infer,
)

F32 = DTYPES["f32"]
STEPS, BATCH, FEATURES, HIDDEN = 5, 3, 4, 6
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
LAYERS = pytest.mark.parametrize("op", [LSTM, GRU, RNN], ids=lambda op: op.name)


def inputs(op: OpDef, count: int = 1, *, peepholes: bool = False, scale: float = 0.7) -> list[Any]:
    """Return random operands, all of them but the lengths (and the peepholes)."""
    draw, gates = np.random.default_rng(len(op.name)), GATES[op.name]

    def random(*shape: int) -> Any:
        return (draw.standard_normal(shape) * scale).astype(np.float32)

    found = [
        random(STEPS, BATCH, FEATURES),
        random(count, gates * HIDDEN, FEATURES),
        random(count, gates * HIDDEN, HIDDEN),
        random(count, 2 * gates * HIDDEN),
        None,
        random(count, BATCH, HIDDEN),
    ]
    if op is LSTM:
        found += [random(count, BATCH, HIDDEN), random(count, 3 * HIDDEN) if peepholes else None]
    return found


def check(op: OpDef, given: list[Any], **attrs: Any) -> None:
    """Check results against onnxruntime, and the inferred types against the results."""
    found = compute(op, *given, **attrs)

    flags = {k: int(v) if isinstance(v, bool) else v for k, v in attrs.items()}
    outputs = 3 if op is LSTM else 2
    expected = by_onnxruntime(op.name.upper(), given, outputs=outputs, hidden_size=HIDDEN, **flags)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    types = [None if v is None else array_type(v) for v in given]
    check_inferred(infer(op, types, **attrs), found, {})


@LAYERS
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_directions(op: OpDef, direction: str) -> None:
    check(op, inputs(op, 2 if direction == "bidirectional" else 1), direction=direction)


@LAYERS
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_sequences_of_different_lengths(op: OpDef, direction: str) -> None:
    given = inputs(op, 2 if direction == "bidirectional" else 1)
    given[4] = np.array([5, 2, 3], np.int32)
    check(op, given, direction=direction)


@LAYERS
def test_only_the_required_operands(op: OpDef) -> None:
    check(op, inputs(op)[:3])


@LAYERS
def test_states_start_at_zero(op: OpDef) -> None:
    given = inputs(op)
    check(op, [*given[:4], np.array([1, 4, 5], np.int32)])


@LAYERS
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("LeakyRelu", {}),
        ("LeakyRelu", {"activation_alpha": 0.3}),
        ("ThresholdedRelu", {"activation_alpha": 0.2}),
        ("ScaledTanh", {"activation_alpha": 0.9, "activation_beta": 0.8}),
        ("HardSigmoid", {}),
        ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
        ("Elu", {"activation_alpha": 0.4}),
        ("Affine", {"activation_alpha": 0.4, "activation_beta": 0.1}),
        ("Softsign", {}),
        ("Softplus", {}),
        ("Relu", {}),
        ("Tanh", {}),
        ("Sigmoid", {}),
    ],
)
def test_activations(op: OpDef, name: str, parameters: dict[str, float]) -> None:
    each = {"lstm": 3, "gru": 2, "rnn": 1}[op.name]
    lists: dict[str, Any] = {k: (v,) * each for k, v in parameters.items()}
    check(op, inputs(op, scale=0.2), activations=(name,) * each, **lists)


def test_parameters_go_to_the_activations_that_take_them() -> None:
    check(
        LSTM,
        inputs(LSTM),
        activations=("HardSigmoid", "Tanh", "LeakyRelu"),
        activation_alpha=(0.3, 0.1),
        activation_beta=(0.4,),
    )


def test_lstm_with_peepholes() -> None:
    check(LSTM, inputs(LSTM, 2, peepholes=True), direction="bidirectional")


def test_lstm_that_couples_input_and_forget_gate() -> None:
    check(LSTM, inputs(LSTM, peepholes=True), input_forget=True)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_gru_that_resets_after_the_product(direction: str) -> None:
    given = inputs(GRU, 2 if direction == "bidirectional" else 1)
    given[4] = np.array([4, 5, 1], np.int32)
    check(GRU, given, direction=direction, linear_before_reset=True)


@pytest.mark.parametrize("op", [GRU, RNN], ids=lambda op: op.name)
def test_clipping_bounds_what_activations_get(op: OpDef) -> None:
    check(op, inputs(op), clip=0.3)


def test_clipping_bounds_the_cell_too_on_its_way_to_the_last_activation() -> None:
    """ONNX: clipping is applied to the input of activations; onnxruntime leaves the cell out."""
    x = np.ones((1, 1, 1), np.float32)
    w, r = np.ones((1, 4, 1), np.float32), np.zeros((1, 4, 1), np.float32)
    start = np.full((1, 1, 1), 8, np.float32)
    zero = np.zeros((1, 1, 1), np.float32)

    _, hidden, cell = compute(LSTM, x, w, r, None, None, zero, start, clip=0.5)

    gate = 1 / (1 + np.exp(-0.5))
    np.testing.assert_allclose(cell, [[[gate * 8 + gate * np.tanh(0.5)]]], rtol=1e-6)
    np.testing.assert_allclose(hidden, [[[gate * np.tanh(0.5)]]], rtol=1e-6)


@LAYERS
def test_batch_first_layout_agrees_with_the_evaluator(op: OpDef) -> None:
    given = inputs(op)
    moved = [None if v is None else v for v in given]
    for index in (0, 5, 6):
        if index < len(moved):
            moved[index] = np.ascontiguousarray(given[index].swapaxes(0, 1))

    found = compute(op, *moved, layout=1)

    name, outputs = op.name.upper(), 3 if op is LSTM else 2
    expected = by_evaluator(name, moved, outputs=outputs, hidden_size=HIDDEN, layout=1)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    types = [None if v is None else array_type(v) for v in moved]
    check_inferred(infer(op, types, layout=1), found, {})


@LAYERS
def test_f16_computes_in_f32_and_rounds_once(op: OpDef) -> None:
    short = [None if v is None else v.astype(np.float16) for v in inputs(op)]

    found = compute(op, *short)

    wide = compute(op, *[None if v is None else v.astype(np.float32) for v in short])
    for ours, exact in zip(found, wide, strict=True):
        np.testing.assert_array_equal(ours, exact.astype(np.float16))


@LAYERS
def test_saturated_gates_raise_no_warning(op: OpDef) -> None:
    given = inputs(op)
    given[0] = given[0] * np.float32(1e6)

    assert all(np.isfinite(v).all() for v in compute(op, *given))


@LAYERS
def test_no_steps_leave_the_initial_state(op: OpDef) -> None:
    given = inputs(op)
    given[0] = given[0][:0]

    found = compute(op, *given)

    assert found[0].shape == (0, 1, BATCH, HIDDEN)
    np.testing.assert_array_equal(found[1], given[5])


def test_types_follow_symbols() -> None:
    t, b = symbol("t"), symbol("b")
    types = [
        TensorType(F32, (t, b, 4)),
        TensorType(F32, (2, 24, 4)),
        TensorType(F32, (2, 24, 6)),
    ]

    assert str(infer(LSTM, types, direction="bidirectional")) == (
        "(f32[t, 2, b, 6], f32[2, b, 6], f32[2, b, 6])"
    )


@pytest.mark.parametrize(
    ("change", "attrs", "code"),
    [
        ((1, (1, 23, 4)), {}, "shape-mismatch"),
        ((2, (2, 24, 6)), {}, "shape-mismatch"),
        ((2, (24, 6)), {}, "rank-mismatch"),
        ((0, (5, 3, 7)), {}, "shape-mismatch"),
        (None, {"hidden_size": 7}, "shape-mismatch"),
        (None, {"activations": ("Tanh",)}, "attribute-value"),
        (None, {"activations": ("Tanh", "Tanh", "Tan")}, "attribute-value"),
        (None, {"layout": 2}, "attribute-value"),
        (None, {"direction": "backward"}, "attribute-type"),
    ],
)
def test_a_wrong_layer_is_refused(change: Any, attrs: dict[str, Any], code: str) -> None:
    types = [array_type(v) for v in inputs(LSTM)[:3]]
    if change is not None:
        types[change[0]] = TensorType(F32, change[1])

    with pytest.raises(CompileError) as caught:
        infer(LSTM, types, **attrs)

    assert caught.value.diagnostics[0].code == code
