"""One step of a recurrent operator: the cells of lstm, gru and rnn, by ONNX's equations.

A cell takes the inputs' share of its gates, worked out for all steps at once, and the state, a
tuple whose first item is the hidden state ``[batch, hidden]``; it returns the next state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, final

from reference_vm.ops.definition import Array, Namespace
from reference_vm.ops.gate_functions import Function
from reference_vm.ops.products import product

State: TypeAlias = tuple[Array, ...]


class Cell(Protocol):
    """Makes the next state of the last one."""

    @property
    def weights(self) -> Array:
        """The recurrence weights, transposed: ``[hidden, gates * hidden]``."""
        ...

    def step(self, xp: Namespace, gates: Array, state: State) -> State:
        """Return the state after one step; ``gates`` is ``[batch, gates * hidden]``."""
        ...


def _gates(x: Array, hidden: int) -> list[Array]:
    return [x[:, start : start + hidden] for start in range(0, x.shape[1], hidden)]


@final
@dataclass(frozen=True, slots=True)
class RnnCell:
    """The simple cell: one gate."""

    weights: Array
    activations: Sequence[Function]

    def step(self, xp: Namespace, gates: Array, state: State) -> State:
        (activation,) = self.activations
        return (activation(xp, gates + product(xp, state[0], self.weights)),)


@final
@dataclass(frozen=True, slots=True)
class GruCell:
    """Gates update, reset, hidden."""

    weights: Array
    hidden_bias: Array
    """The recurrence bias of the hidden gate, ``[hidden]``, which reset may scale."""

    activations: Sequence[Function]
    linear_before_reset: bool

    def step(self, xp: Namespace, gates: Array, state: State) -> State:
        (before,), size = state, state[0].shape[1]
        f, g = self.activations
        update_x, reset_x, hidden_x = _gates(gates, size)
        if self.linear_before_reset:
            update_h, reset_h, hidden_h = _gates(product(xp, before, self.weights), size)
            reset = f(xp, reset_x + reset_h)
            share = reset * (hidden_h + self.hidden_bias)
        else:
            update_h, reset_h = _gates(product(xp, before, self.weights[:, : 2 * size]), size)
            reset = f(xp, reset_x + reset_h)
            share = product(xp, reset * before, self.weights[:, 2 * size :]) + self.hidden_bias
        update = f(xp, update_x + update_h)
        candidate = g(xp, hidden_x + share)
        return ((1 - update) * candidate + update * before,)


@final
@dataclass(frozen=True, slots=True)
class LstmCell:
    """Gates input, output, forget, cell; the second state is the cell's."""

    weights: Array
    peepholes: Array | None
    """Of input, output and forget gate: ``[3, hidden]``."""

    activations: Sequence[Function]
    input_forget: bool
    """Whether forgetting is one less the input gate."""

    def step(self, xp: Namespace, gates: Array, state: State) -> State:
        hidden, cell = state
        f, g, h = self.activations
        summed = gates + product(xp, hidden, self.weights)
        into, out, forget, candidate = _gates(summed, hidden.shape[1])
        if self.peepholes is not None:
            into = into + self.peepholes[0] * cell
            forget = forget + self.peepholes[2] * cell
        kept = f(xp, into)
        forgotten = 1 - kept if self.input_forget else f(xp, forget)
        after = forgotten * cell + kept * g(xp, candidate)
        if self.peepholes is not None:
            out = out + self.peepholes[1] * after
        return f(xp, out) * h(xp, after), after


__all__ = ["Cell", "GruCell", "LstmCell", "RnnCell", "State"]
