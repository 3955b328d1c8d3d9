"""Recurrent layers over whole sequences: lstm, gru, rnn, with all of ONNX's attributes.

The inputs' share of the gates is one product for all steps; each step adds one of the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any, Final

from reference_vm.ops import recurrent_types
from reference_vm.ops.cells import Cell, GruCell, LstmCell, RnnCell, State
from reference_vm.ops.definition import Array, Attr, Compute, Namespace, OpDef, Operand
from reference_vm.ops.gate_functions import Function, functions
from reference_vm.ops.numerics import quiet, widened
from reference_vm.ops.products import product
from reference_vm.ops.recurrent_types import FORMS, directions


def _in_one_dtype(compute: Compute) -> Compute:
    """Return ``compute`` made fit for f16 and bf16: computed in f32, the results rounded."""

    @wraps(compute)
    def run(xp: Namespace, x: Array, *operands: Array | None, **attrs: Any) -> tuple[Array, ...]:
        wide = [widened(xp, operand) for operand in (x, *operands)]
        with quiet():
            return tuple(r.astype(x.dtype, copy=False) for r in compute(xp, *wide, **attrs))

    return run


@_in_one_dtype
def _compute_rnn(
    xp: Namespace,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    initial_h: Array | None = None,
    **attrs: Any,
) -> tuple[Array, ...]:
    bias = _biases(xp, r, b).sum(axis=1)
    cells = [RnnCell(r[i].T, used) for i, used in enumerate(_activations("rnn", attrs))]
    return _run(xp, cells, x, w, bias, lengths, (initial_h,), attrs)


@_in_one_dtype
def _compute_gru(
    xp: Namespace,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    initial_h: Array | None = None,
    **attrs: Any,
) -> tuple[Array, ...]:
    both, gated = _biases(xp, r, b), 2 * r.shape[2]
    bias = both[:, 0].copy()
    bias[:, :gated] += both[:, 1, :gated]
    linear = attrs["linear_before_reset"]
    cells = [
        GruCell(r[i].T, both[i, 1, gated:], used, linear)
        for i, used in enumerate(_activations("gru", attrs))
    ]
    return _run(xp, cells, x, w, bias, lengths, (initial_h,), attrs)


@_in_one_dtype
def _compute_lstm(
    xp: Namespace,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
    **attrs: Any,
) -> tuple[Array, ...]:
    bias = _biases(xp, r, b).sum(axis=1)
    peepholes = None if p is None else p.reshape(r.shape[0], 3, -1)
    cells = [
        LstmCell(r[i].T, None if peepholes is None else peepholes[i], used, attrs["input_forget"])
        for i, used in enumerate(_activations("lstm", attrs))
    ]
    return _run(xp, cells, x, w, bias, lengths, (initial_h, initial_c), attrs)


def _biases(xp: Namespace, r: Array, b: Array | None) -> Array:
    """Return the biases of inputs and state, ``[directions, 2, gates * hidden]``."""
    if b is None:
        return xp.zeros((r.shape[0], 2, r.shape[1]), dtype=r.dtype)
    return b.reshape(r.shape[0], 2, r.shape[1])


def _activations(op: str, attrs: dict[str, Any]) -> list[list[Function]]:
    """Return the activations of each direction."""
    names = attrs["activations"] or FORMS[op].activations * directions(attrs["direction"])
    alphas, betas = attrs["activation_alpha"] or (), attrs["activation_beta"] or ()
    found, each = functions(names, alphas, betas, attrs["clip"]), len(FORMS[op].activations)
    return [found[start : start + each] for start in range(0, len(found), each)]


def _run(
    xp: Namespace,
    cells: Sequence[Cell],
    x: Array,
    w: Array,
    bias: Array,
    lengths: Array | None,
    initial: Sequence[Array | None],
    attrs: dict[str, Any],
) -> tuple[Array, ...]:
    """Return the hidden states of all steps, then each last state, in the layout asked for."""
    if not attrs["layout"]:
        return _time_major(xp, cells, x, w, bias, lengths, initial, attrs["direction"])
    swapped = [None if s is None else s.swapaxes(0, 1) for s in initial]
    every, *last = _time_major(
        xp, cells, x.swapaxes(0, 1), w, bias, lengths, swapped, attrs["direction"]
    )
    return every.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in last)


def _time_major(
    xp: Namespace,
    cells: Sequence[Cell],
    x: Array,
    w: Array,
    bias: Array,
    lengths: Array | None,
    initial: Sequence[Array | None],
    direction: str,
) -> tuple[Array, ...]:
    steps, batch, features = x.shape
    hidden = cells[0].weights.shape[0]
    every = xp.zeros((steps, len(cells), batch, hidden), dtype=x.dtype)
    zeros = xp.zeros((batch, hidden), dtype=x.dtype)
    active = None if lengths is None else _active(xp, lengths, steps)
    last = []
    for index, cell in enumerate(cells):
        flat = product(xp, x.reshape(steps * batch, features), w[index].T) + bias[index]
        gates = flat.reshape(steps, batch, flat.shape[1])
        state = tuple(zeros if s is None else s[index] for s in initial)
        order = range(steps)[:: -1 if direction == "reverse" or index else 1]
        last.append(_scan(xp, cell, gates, state, order, active, every[:, index]))
    return every, *(xp.stack(states) for states in zip(*last, strict=True))


def _active(xp: Namespace, lengths: Array, steps: int) -> Array:
    """Return which sequences of the batch go on at each step: bools ``[steps, batch, 1]``."""
    return (xp.arange(steps)[:, None] < lengths[None, :])[:, :, None]


def _scan(
    xp: Namespace,
    cell: Cell,
    gates: Array,
    state: State,
    order: Sequence[int],
    active: Array | None,
    every: Array,
) -> State:
    """Step through ``order``, writing each hidden state into ``every``; return the last state.

    Where a sequence is not active its state stays, and its hidden state is written as 0.
    """
    for step in order:
        after = cell.step(xp, gates[step], state)
        if active is None:
            every[step], state = after[0], after
            continue
        going = active[step]
        every[step] = xp.where(going, after[0], 0)
        state = tuple(xp.where(going, new, old) for new, old in zip(after, state, strict=True))
    return state


_ATTRS: Final = {
    "activations": Attr((tuple, type(None)), None),
    "activation_alpha": Attr((tuple, type(None)), None),
    "activation_beta": Attr((tuple, type(None)), None),
    "clip": Attr((float, type(None)), None),
    "direction": Attr((str,), "forward", ("forward", "reverse", "bidirectional")),
    "hidden_size": Attr((int, type(None)), None),
    "layout": Attr((int,), 0),
}

_OPERANDS: Final = (
    Operand("x"),
    Operand("w"),
    Operand("r"),
    Operand("b", optional=True),
    Operand("sequence_lens", optional=True),
    Operand("initial_h", optional=True),
)

RNN: Final = OpDef(
    name="rnn",
    summary="Run a layer of simple recurrent cells over sequences.",
    operands=_OPERANDS,
    infer=recurrent_types.infer,
    compute=_compute_rnn,
    attrs=_ATTRS,
    origin="onnx",
)

GRU: Final = OpDef(
    name="gru",
    summary="Run a layer of gated recurrent units over sequences.",
    operands=_OPERANDS,
    infer=recurrent_types.infer,
    compute=_compute_gru,
    attrs={**_ATTRS, "linear_before_reset": Attr((bool,), False)},
    origin="onnx",
)

LSTM: Final = OpDef(
    name="lstm",
    summary="Run a layer of long short-term memory cells over sequences.",
    operands=(*_OPERANDS, Operand("initial_c", optional=True), Operand("p", optional=True)),
    infer=recurrent_types.infer,
    compute=_compute_lstm,
    attrs={**_ATTRS, "input_forget": Attr((bool,), False)},
    origin="onnx",
)

OPS: Final = (LSTM, GRU, RNN)
