"""The activation functions of recurrent operators, by ONNX's names, with their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, final

from reference_vm.ops.definition import Array, Namespace

Function: TypeAlias = Callable[[Namespace, Array], Array]
"""Applies an activation to every element."""


@final
@dataclass(frozen=True, slots=True)
class Activation:
    """One activation function and the parameters that it takes."""

    apply: Callable[..., Array]
    """``apply(xp, x, alpha, beta)``, with as many of the two as it takes."""

    alpha: float | None = None
    """The default of ``alpha``; ``None`` if it takes none."""

    beta: float | None = None


def _sigmoid(xp: Namespace, x: Array) -> Array:
    return 1 / (1 + xp.exp(-x))


def _softplus(xp: Namespace, x: Array) -> Array:
    return xp.log1p(xp.exp(-xp.abs(x))) + xp.maximum(x, 0)


ACTIVATIONS: Final[Mapping[str, Activation]] = {
    "relu": Activation(lambda xp, x: xp.maximum(x, 0)),
    "tanh": Activation(lambda xp, x: xp.tanh(x)),
    "sigmoid": Activation(_sigmoid),
    "softsign": Activation(lambda xp, x: x / (1 + xp.abs(x))),
    "softplus": Activation(_softplus),
    "affine": Activation(lambda _, x, a, b: a * x + b, 1.0, 0.0),
    "leakyrelu": Activation(lambda xp, x, a: xp.where(x >= 0, x, a * x), 0.01),
    "thresholdedrelu": Activation(lambda xp, x, a: xp.where(x >= a, x, x.dtype.type(0)), 1.0),
    "scaledtanh": Activation(lambda xp, x, a, b: a * xp.tanh(b * x), 1.0, 1.0),
    "hardsigmoid": Activation(lambda xp, x, a, b: xp.clip(a * x + b, 0, 1), 0.2, 0.5),
    "elu": Activation(lambda xp, x, a: xp.where(x >= 0, x, a * xp.expm1(xp.minimum(x, 0))), 1.0),
}
"""Every activation by its name in lower case: ONNX's names are read in any case."""


def functions(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float], clip: float | None
) -> list[Function]:
    """Return the functions ``names``, each preceded by clipping to ``-clip … clip``."""
    return [
        partial(_applied, ACTIVATIONS[name].apply, found, clip)
        for name, found in parameters(names, alphas, betas)
    ]


def parameters(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
) -> list[tuple[str, tuple[float, ...]]]:
    """Return the functions' names in lower case, each with its parameters.

    The parameters are consumed in order by those functions that take them; then defaults serve.
    """
    left = {"alpha": list(alphas), "beta": list(betas)}
    found: list[tuple[str, tuple[float, ...]]] = []
    for name in names:
        activation = ACTIVATIONS[name.lower()]
        taken = tuple(
            left[which].pop(0) if left[which] else default
            for which, default in (("alpha", activation.alpha), ("beta", activation.beta))
            if default is not None
        )
        found.append((name.lower(), taken))
    return found


def _applied(
    apply: Callable[..., Array],
    parameters: tuple[Any, ...],
    clip: float | None,
    xp: Namespace,
    x: Array,
) -> Array:
    bounded = x if clip is None else xp.clip(x, -clip, clip)
    return apply(xp, bounded, *parameters)


__all__ = ["ACTIVATIONS", "Activation", "Function", "functions", "parameters"]
