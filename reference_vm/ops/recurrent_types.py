"""The type rules of lstm, gru and rnn, and what their activations are when none are named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, final

from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.definition import OpCall
from reference_vm.ops.gate_functions import ACTIVATIONS
from reference_vm.ops.operands import agreed, shaped
from reference_vm.types import Dim, Shape, TensorType, TupleType, Type
from reference_vm.types import dim as dims
from reference_vm.types.dtype import FLOATS, I32


@final
@dataclass(frozen=True, slots=True)
class Form:
    """What tells the three operators apart."""

    gates: int
    states: int
    """How many initial and last states there are; their operands begin at 5."""

    activations: tuple[str, ...]
    """Of one direction, if none are named."""


FORMS: Final[Mapping[str, Form]] = MappingProxyType(
    {
        "rnn": Form(1, 1, ("Tanh",)),
        "gru": Form(3, 1, ("Sigmoid", "Tanh")),
        "lstm": Form(4, 2, ("Sigmoid", "Tanh", "Tanh")),
    }
)

PEEPHOLES: Final = 7
"""Where lstm's peepholes stand."""


def directions(direction: str) -> int:
    """Return how many directions a layer runs in."""
    return 2 if direction == "bidirectional" else 1


def infer(call: OpCall) -> Type:
    """Return the types of the hidden states of all steps and of each last state."""
    form, count = FORMS[call.op.name], directions(call.attrs["direction"])
    _check_attributes(call, form, count)
    dtype = tensor_of(call, 0, FLOATS).dtype
    agree_on_dtype(call, [i for i in range(len(call.op.operands)) if i != 4])
    if call.present(4):
        tensor_of(call, 4, (I32,))
    first, second, features = shaped(call, 0, 3)
    steps, batch = (second, first) if call.attrs["layout"] else (first, second)
    hidden = _check_weights(call, form, count, features)
    batch = _check_batch(call, form, (count, batch, hidden))
    every: Shape = (steps, count, batch, hidden)
    last: Shape = (count, batch, hidden)
    if call.attrs["layout"]:
        every, last = (batch, steps, count, hidden), (batch, count, hidden)
    finals = tuple(TensorType(dtype, last) for _ in range(form.states))
    return TupleType((TensorType(dtype, every), *finals))


def _check_attributes(call: OpCall, form: Form, count: int) -> None:
    if call.attrs["layout"] not in (0, 1):
        raise call.error("attribute-value", f"layout is {call.attrs['layout']}, expected 0 or 1")
    names = call.attrs["activations"]
    if names is None:
        return
    if len(names) != count * len(form.activations):
        expected = count * len(form.activations)
        raise call.error("attribute-value", f"found {len(names)} activations, expected {expected}")
    for name in names:
        if not isinstance(name, str) or name.lower() not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise call.error("attribute-value", f"{name!r} is no activation; there are {known}")


def _check_weights(call: OpCall, form: Form, count: int, features: Dim) -> Dim:
    """Check the shapes of weights, biases and peepholes; return the hidden size."""
    of_inputs, of_state = shaped(call, 1, 3), shaped(call, 2, 3)
    hidden = of_state[2]
    if call.attrs["hidden_size"] is not None:
        hidden = agreed(call, hidden, call.attrs["hidden_size"], "the hidden size of operand r")
    rows = dims.multiply(form.gates, hidden)
    _check(call, 1, of_inputs, (count, rows, features))
    _check(call, 2, of_state, (count, rows, hidden))
    if call.present(3):
        _check(call, 3, shaped(call, 3, 2), (count, dims.multiply(2, rows)))
    if call.present(PEEPHOLES):
        _check(call, PEEPHOLES, shaped(call, PEEPHOLES, 2), (count, dims.multiply(3, hidden)))
    return hidden


def _check_batch(call: OpCall, form: Form, state: tuple[Dim, Dim, Dim]) -> Dim:
    """Check the shapes of lengths and initial states; return the batch size."""
    count, batch, hidden = state
    if call.present(4):
        batch = agreed(call, batch, shaped(call, 4, 1)[0], "the batch size")
    expected = (batch, count, hidden) if call.attrs["layout"] else (count, batch, hidden)
    for index in range(5, 5 + form.states):
        if call.present(index):
            _check(call, index, shaped(call, index, 3), expected)
    return batch


def _check(call: OpCall, index: int, found: Shape, expected: Shape) -> None:
    name = call.op.operand(index).name
    for axis, (left, right) in enumerate(zip(found, expected, strict=True)):
        agreed(call, left, right, f"axis {axis} of operand {name}")


__all__ = ["FORMS", "Form", "directions", "infer"]
