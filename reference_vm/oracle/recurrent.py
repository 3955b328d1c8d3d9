"""What recurrent layers mean: the steps one by one, with the error carried along in the state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands
from reference_vm.oracle.estimate import Estimate, Result, Wide, bounded, unit

Curve = Callable[[Wide], Wide]


@final
class _Tracked:
    """A value and its error inside a layer."""

    def __init__(self, value: Wide, error: Wide) -> None:
        self.value = value
        self.error = bounded(error)

    def __getitem__(self, place: Any) -> _Tracked:
        return _Tracked(self.value[place], self.error[place])


def _curve(name: str, alpha: float | None, beta: float | None) -> Curve:
    """Return an activation; each of them rises, or falls, throughout."""
    a = {"LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "HardSigmoid": 0.2, "Elu": 1.0}
    a |= {"Affine": 1.0, "ScaledTanh": 1.0}
    first = alpha if alpha is not None else a.get(name, 0.0)
    second = beta if beta is not None else (0.5 if name == "HardSigmoid" else 1.0)
    if name == "Affine" and beta is None:
        second = 0.0
    table: dict[str, Curve] = {
        "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "Tanh": np.tanh,
        "Relu": lambda x: np.maximum(x, 0),
        "Affine": lambda x: first * x + second,
        "LeakyRelu": lambda x: np.where(x < 0, first * x, x),
        "ThresholdedRelu": lambda x: np.where(x > first, x, 0.0),
        "ScaledTanh": lambda x: first * np.tanh(second * x),
        "HardSigmoid": lambda x: np.clip(first * x + second, 0, 1),
        "Elu": lambda x: np.where(x < 0, first * np.expm1(x), x),
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "Softplus": lambda x: np.logaddexp(x, 0),
    }
    return table[name]


@final
class _Arithmetic:
    """Arithmetic on tracked values in one precision; with a generator, with random rounding."""

    def __init__(
        self, u: float, clip: float | None, generator: np.random.Generator | None = None
    ) -> None:
        self.u = u
        self.clip = clip
        self.generator = generator

    def _rounded(self, value: Wide, error: Wide, size: Wide) -> _Tracked:
        """Return a result that may be off by ``size`` unit roundoffs more than ``error``."""
        if self.generator is None:
            return _Tracked(value, error + size * self.u)
        draw = self.generator.uniform(-self.u, self.u, value.shape)
        return _Tracked(value + size * draw, error)

    def activate(self, x: _Tracked, curve: Curve) -> _Tracked:
        """Return a function that rises throughout, whose error is how far it can move."""

        def bent(values: Wide) -> Wide:
            inside = values if self.clip is None else np.clip(values, -self.clip, self.clip)
            return np.asarray(curve(inside))

        value = bent(x.value)
        error = np.fmax(
            np.abs(bent(x.value + x.error) - value), np.abs(bent(x.value - x.error) - value)
        )
        return self._rounded(value, error, 6 * np.abs(value) + 1)

    def add(self, *parts: _Tracked) -> _Tracked:
        value = np.asarray(sum(p.value for p in parts))
        sizes = np.asarray(sum(np.abs(p.value) for p in parts))
        error = np.asarray(sum(p.error for p in parts))
        return self._rounded(value, error, sizes * (len(parts) - 1))

    def multiply(self, x: _Tracked, y: _Tracked) -> _Tracked:
        value = x.value * y.value
        grown = np.abs(x.value) * y.error + np.abs(y.value) * x.error + x.error * y.error
        return self._rounded(value, grown, np.abs(value))

    def times(self, x: _Tracked, weights: _Tracked) -> _Tracked:
        """Return ``x @ weights.T``."""
        magnitude = np.abs(weights.value.T)
        value = x.value @ weights.value.T
        size = np.abs(x.value) @ magnitude
        count = weights.value.shape[1]
        if self.generator is not None:
            size = (size + np.abs(value) * count**0.5) / 2
            return self._rounded(value, np.zeros(value.shape), size)
        error = x.error @ magnitude
        if np.any(weights.error):
            error = error + (np.abs(x.value) + x.error) @ weights.error.T
        return self._rounded(value, error, size * (count + 2))


@final
@dataclass(frozen=True)
class _Direction:
    """One direction of a layer: its weights and activations."""

    w: _Tracked
    r: _Tracked
    wb: _Tracked
    rb: _Tracked
    peephole: _Tracked | None
    curves: Sequence[Curve]


Step = Callable[[_Arithmetic, _Direction, _Tracked, tuple[_Tracked, ...]], tuple[_Tracked, ...]]


def _exactly(value: Wide) -> _Tracked:
    return _Tracked(value, np.zeros(value.shape))


def _of(estimate: Estimate) -> _Tracked:
    return _Tracked(estimate.value, estimate.errors)


def _parts(tracked: _Tracked, count: int) -> list[_Tracked]:
    values, errors = np.split(tracked.value, count, -1), np.split(tracked.error, count, -1)
    return [_Tracked(v, e) for v, e in zip(values, errors, strict=True)]


def _rnn_step(
    a: _Arithmetic, d: _Direction, x: _Tracked, state: tuple[_Tracked, ...]
) -> tuple[_Tracked, ...]:
    gate = a.add(a.times(x, d.w), a.times(state[0], d.r), d.wb, d.rb)
    return (a.activate(gate, d.curves[0]),)


def _gru_step(linear: bool) -> Step:
    def step(
        a: _Arithmetic, d: _Direction, x: _Tracked, state: tuple[_Tracked, ...]
    ) -> tuple[_Tracked, ...]:
        (h,) = state
        size = d.r.value.shape[-1]
        xz, xr, xh = _parts(a.add(a.times(x, d.w), d.wb), 3)
        rz, rr, rh = d.r[:size], d.r[size : 2 * size], d.r[2 * size :]
        bz, br, bh = _parts(d.rb, 3)
        z = a.activate(a.add(xz, a.times(h, rz), bz), d.curves[0])
        r = a.activate(a.add(xr, a.times(h, rr), br), d.curves[0])
        if linear:
            inner = a.multiply(r, a.add(a.times(h, rh), bh))
        else:
            inner = a.add(a.times(a.multiply(r, h), rh), bh)
        candidate = a.activate(a.add(xh, inner), d.curves[1])
        rest = a.add(_exactly(np.ones(z.value.shape)), _Tracked(-z.value, z.error))
        return (a.add(a.multiply(rest, candidate), a.multiply(z, h)),)

    return step


def _lstm_step(input_forget: bool) -> Step:
    def step(
        a: _Arithmetic, d: _Direction, x: _Tracked, state: tuple[_Tracked, ...]
    ) -> tuple[_Tracked, ...]:
        h, c = state
        i, o, f, g = _parts(a.add(a.times(x, d.w), a.times(h, d.r), d.wb, d.rb), 4)
        if d.peephole is not None:
            pi, _, pf = _parts(d.peephole, 3)
            i, f = a.add(i, a.multiply(pi, c)), a.add(f, a.multiply(pf, c))
        i = a.activate(i, d.curves[0])
        f = (
            a.add(_exactly(np.ones(i.value.shape)), _Tracked(-i.value, i.error))
            if input_forget
            else a.activate(f, d.curves[0])
        )
        g = a.activate(g, d.curves[1])
        cell = a.add(a.multiply(f, c), a.multiply(i, g))
        if d.peephole is not None:
            o = a.add(o, a.multiply(_parts(d.peephole, 3)[1], cell))
        o = a.activate(o, d.curves[0])
        return (a.multiply(o, a.activate(cell, d.curves[2])), cell)

    return step


def _directions(call: Operands, gates: int, defaults: Sequence[str]) -> list[_Direction]:
    w, r, b = call[1].value, call[2].value, call.optional(3)
    peephole = call.optional(7) if gates == 4 else None
    names = call.attrs["activations"] or tuple(defaults) * w.shape[0]
    alphas = list(call.attrs["activation_alpha"] or ())
    betas = list(call.attrs["activation_beta"] or ())
    takes_alpha = {"LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu", "Affine", "ScaledTanh"}
    takes_beta = {"HardSigmoid", "Affine", "ScaledTanh"}
    curves = []
    for name in names:
        alpha = alphas.pop(0) if name in takes_alpha and alphas else None
        beta = betas.pop(0) if name in takes_beta and betas else None
        curves.append(_curve(str(name), alpha, beta))
    each, size = len(curves) // w.shape[0], r.shape[2]
    bias = _exactly(np.zeros((w.shape[0], 2 * gates * size), w.dtype)) if b is None else _of(b)
    return [
        _Direction(
            _of(call[1])[n],
            _of(call[2])[n],
            bias[n, : gates * size],
            bias[n, gates * size :],
            None if peephole is None else _of(peephole)[n],
            curves[n * each : (n + 1) * each],
        )
        for n in range(w.shape[0])
    ]


def _layer(
    gates: int, defaults: Sequence[str], states: int, step_of: Callable[[Operands], Step]
) -> Meaning:
    def meaning(call: Operands) -> Result:
        x = call[0]
        batch_first = int(call.attrs["layout"]) == 1
        values, errors = x.value, x.errors
        if batch_first:
            values, errors = np.swapaxes(values, 0, 1), np.swapaxes(errors, 0, 1)
        lengths = call.integers(4) or (values.shape[0],) * values.shape[1]
        clip = call.attrs["clip"]
        arithmetic = _Arithmetic(
            unit(x.dtype) if call.rounding.is_rounding else 0.0,
            None if clip is None else float(clip),
            call.rounding.generator,
        )
        initial = [call.optional(5 + i) for i in range(states)]
        outputs, finals = [], []
        for number, direction in enumerate(_directions(call, gates, defaults)):
            backward = call.attrs["direction"] == "reverse" or number == 1
            start = tuple(
                _start(given, number, values.shape[1], direction, batch_first) for given in initial
            )
            every, last = _run(
                arithmetic, direction, step_of(call), _Tracked(values, errors), start, lengths,
                backward,
            )  # fmt: skip
            outputs.append(every)
            finals.append(last)
        return _finished(call, outputs, finals, batch_first)

    return meaning


def _start(
    given: Estimate | None, number: int, batch: int, direction: _Direction, batch_first: bool
) -> _Tracked:
    size = direction.r.value.shape[-1]
    if given is None:
        return _exactly(np.zeros((batch, size), direction.r.value.dtype))
    value, error = given.value, given.errors
    if batch_first:
        value, error = np.swapaxes(value, 0, 1), np.swapaxes(error, 0, 1)
    return _Tracked(value[number], error[number])


def _run(
    a: _Arithmetic,
    direction: _Direction,
    step: Step,
    x: _Tracked,
    state: tuple[_Tracked, ...],
    lengths: Sequence[int],
    backward: bool,
) -> tuple[_Tracked, tuple[_Tracked, ...]]:
    """Return the state after each step, zero beyond a sequence's length, and the last state."""
    steps, batch = x.value.shape[:2]
    size = direction.r.value.shape[-1]
    values, errors = np.zeros((steps, batch, size), x.value.dtype), np.zeros((steps, batch, size))
    limit = np.asarray(lengths, np.int64)
    for position in range(steps):
        at = np.where(backward, limit - 1 - position, position)
        active = (position < limit)[:, None]
        rows = (np.clip(at, 0, steps - 1), np.arange(batch))
        new = step(a, direction, _Tracked(x.value[rows], x.error[rows]), state)
        state = tuple(
            _Tracked(np.where(active, n.value, o.value), np.where(active, n.error, o.error))
            for n, o in zip(new, state, strict=True)
        )
        keep = active[:, 0]
        places = (rows[0][keep], rows[1][keep])
        values[places], errors[places] = state[0].value[keep], state[0].error[keep]
    return _Tracked(values, errors), state


def _finished(
    call: Operands,
    outputs: Sequence[_Tracked],
    finals: Sequence[tuple[_Tracked, ...]],
    batch_first: bool,
) -> Result:
    def result(value: Wide, error: Wide) -> Estimate:
        lengths = call.optional(4)
        endless = lengths is not None and lengths.error is not None
        return call.rounding.result(
            value,
            call.dtype,
            own=error,
            noise=lambda: np.zeros(value.shape),
            propagated=None if call.rounding.is_rounding else (lambda: error),
            open_at=(lambda: np.ones(value.shape, np.bool_)) if endless else None,
        )

    every = np.stack([o.value for o in outputs], 1), np.stack([o.error for o in outputs], 1)
    if batch_first:
        every = np.transpose(every[0], (2, 0, 1, 3)), np.transpose(every[1], (2, 0, 1, 3))
    results = [result(*every)]
    for index in range(len(finals[0])):
        value = np.stack([f[index].value for f in finals])
        error = np.stack([f[index].error for f in finals])
        if batch_first:
            value, error = np.swapaxes(value, 0, 1), np.swapaxes(error, 0, 1)
        results.append(result(value, error))
    return tuple(results)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "rnn": _layer(1, ("Tanh",), 1, lambda _: _rnn_step),
        "gru": _layer(
            3, ("Sigmoid", "Tanh"), 1, lambda c: _gru_step(bool(c.attrs["linear_before_reset"]))
        ),
        "lstm": _layer(
            4, ("Sigmoid", "Tanh", "Tanh"), 2, lambda c: _lstm_step(bool(c.attrs["input_forget"]))
        ),
    }
)
