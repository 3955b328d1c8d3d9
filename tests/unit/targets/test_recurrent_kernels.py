"""Recurrent layers as machine code compute what the oracle means, with all of ONNX's attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.ir.nodes import Binding, Block, Call, Function, Operand, Var
from reference_vm.jit import pool_code
from reference_vm.ops.catalog import OPS
from reference_vm.ops.typing import infer_call
from reference_vm.targets.numba.staged import StagedKernel
from reference_vm.targets.numba.target import NumbaTarget
from reference_vm.types import Attrs, TensorType
from reference_vm.types.arrays import from_numpy
from tests.unit.targets.judged import check, native

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
EACH = {"lstm": 3, "gru": 2, "rnn": 1}
ACTIVATIONS = (
    *("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "Affine", "LeakyRelu"),
    *("ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"),
)


def _layer(op: str, operands: list[Any], **attrs: Any) -> tuple[Function, list[Any]]:
    """Return the function of one call, with operands left out where there is ``None``."""
    types = [None if x is None else TensorType(from_numpy(x.dtype), x.shape) for x in operands]
    typed = infer_call(OPS[op], types, Attrs(**attrs), [None] * len(types))
    args: list[Operand] = [None if t is None else Var(f"p{i}", t) for i, t in enumerate(types)]
    params = tuple(a for a in args if isinstance(a, Var))
    result = Var("r", typed.type)
    body = Block((Binding(result, Call(op, tuple(args), typed.attrs)),), result)
    function = Function(op, params, typed.type, body, attrs=Attrs(primitive=True))
    return function, [x for x in operands if x is not None]


@st.composite
def _sizes(draw: st.DrawFn) -> tuple[int, ...]:
    return tuple(draw(st.integers(1, n)) for n in (5, 6, 9, 23))


def _operands(
    op: str, sizes: tuple[int, ...], direction: str, present: tuple[bool, ...], dtype: Any
) -> list[Any]:
    steps, batch, features, hidden = sizes
    random, count, rows = np.random.default_rng(5), DIRECTIONS[direction], GATES[op] * sizes[3]
    biased, measured, started, peeping = present

    def numbers(*shape: int) -> Any:
        return random.normal(size=shape).astype(dtype)

    found = [numbers(steps, batch, features), numbers(count, rows, features)]
    found += [numbers(count, rows, hidden), numbers(count, 2 * rows) if biased else None]
    lengths = random.integers(0, steps + 1, batch).astype(np.int32)
    found += [lengths if measured else None]
    states = 2 if op == "lstm" else 1
    found += [numbers(count, batch, hidden) if started else None for _ in range(states)]
    if op == "lstm":
        found.append(numbers(count, 3 * hidden) if peeping else None)
    return found


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(list(GATES)),
    _sizes(),
    st.sampled_from(list(DIRECTIONS)),
    st.tuples(*[st.booleans()] * 4),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_any_layer(
    op: str, sizes: Any, direction: str, present: Any, switch: bool, dtype: Any
) -> None:
    attrs: dict[str, Any] = {"direction": direction}
    attrs |= {"gru": {"linear_before_reset": switch}, "lstm": {"input_forget": switch}}.get(op, {})
    function, operands = _layer(op, _operands(op, sizes, direction, present, dtype), **attrs)
    check(function, operands, parts=2)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation(name: str) -> None:
    operands = _operands("rnn", (2, 2, 3, 19), "bidirectional", (True, False, True, False), "f4")
    attrs: dict[str, Any] = {"activations": (name, "Tanh"), "clip": 1.5}
    if name in ("Affine", "ScaledTanh", "HardSigmoid"):
        attrs |= {"activation_alpha": (0.75,), "activation_beta": (0.5,)}
    if name in ("LeakyRelu", "ThresholdedRelu", "Elu"):
        attrs |= {"activation_alpha": (0.25,)}
    function, given_ = _layer("rnn", operands, direction="bidirectional", **attrs)
    check(function, given_)


@pytest.mark.parametrize("op", list(GATES))
def test_a_layer_without_steps_gives_the_states_it_was_given(op: str) -> None:
    operands = _operands(op, (0, 2, 3, 5), "forward", (True, False, True, False), "f4")
    function, given_ = _layer(op, operands)
    check(function, given_)


@pytest.mark.parametrize(
    ("op", "linear"), [("lstm", False), ("gru", False), ("gru", True), ("rnn", False)]
)
def test_large_products_of_a_step_are_shared_and_the_bits_stay(op: str, linear: bool) -> None:
    steps = 5
    operands = _operands(op, (steps, 1, 7, 300), "forward", (True, False, True, False), np.float32)
    attrs = {"linear_before_reset": linear} if op == "gru" else {}
    function, given = _layer(op, operands, hidden_size=300, **attrs)
    found = []
    for threads in (1, 3):
        kernel = native(function, NumbaTarget(threads=threads))
        assert isinstance(kernel, StagedKernel)
        before = kernel.pool._state[pool_code.TICKET] & 0xFFFFFFFF
        found.append(kernel(np, given, [None] * len(kernel.dtypes)))
        jobs = (kernel.pool._state[pool_code.TICKET] & 0xFFFFFFFF) - before
        assert jobs >= steps if threads > 1 else jobs == 0
        kernel.pool.stop()
    for one, other in zip(*found, strict=True):
        assert one.tobytes() == other.tobytes()
