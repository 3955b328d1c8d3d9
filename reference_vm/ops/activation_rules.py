"""The activations in the loop IR, written so that nothing overflows or cancels on the way."""

from __future__ import annotations

import math
from typing import Final

from reference_vm.loops.scalar import Scalar, binary, compare, literal, select, unary

SQRT_HALF: Final = math.sqrt(0.5)
SQRT_2_OVER_PI: Final = math.sqrt(2 / math.pi)
GELU_CUBIC: Final = 0.044715
MISH_LINEAR: Final = 20.0
"""From here on mish(x) is x."""


def log1p_element(x: Scalar) -> Scalar:
    """Return log(1 + x), precise for small x."""
    one = literal(1, x)
    u = binary("add", one, x)
    exact = compare("eq", u, one)
    divisor = select(exact, one, binary("sub", u, one))
    scaled = binary("div", binary("mul", unary("log", u), x), divisor)
    return select(exact, x, scaled)


def expm1_element(x: Scalar) -> Scalar:
    """Return exp(x) - 1 for x <= 0, precise for small x."""
    one = literal(1, x)
    u = unary("exp", x)
    less = binary("sub", u, one)
    vanished = compare("eq", less, literal(-1, x))
    exact = compare("eq", u, one)
    divisor = select(exact, one, unary("log", select(vanished, literal(2, x), u)))
    scaled = binary("div", binary("mul", less, x), divisor)
    return select(vanished, less, select(exact, x, scaled))


def sigmoid_element(x: Scalar) -> Scalar:
    one = literal(1, x)
    small = unary("exp", unary("neg", unary("abs", x)))
    top = select(compare("ge", x, literal(0, x)), one, small)
    return binary("div", top, binary("add", one, small))


def hard_sigmoid_element(x: Scalar, *, alpha: float, beta: float) -> Scalar:
    line = binary("add", binary("mul", x, literal(alpha, x)), literal(beta, x))
    return binary("max", binary("min", line, literal(1, x)), literal(0, x))


def elu_element(x: Scalar, *, alpha: float) -> Scalar:
    zero = literal(0, x)
    curve = binary("mul", literal(alpha, x), expm1_element(binary("min", x, zero)))
    return select(compare("gt", x, zero), x, curve)


def selu_element(x: Scalar, *, alpha: float, gamma: float) -> Scalar:
    return binary("mul", literal(gamma, x), elu_element(x, alpha=alpha))


def celu_element(x: Scalar, *, alpha: float) -> Scalar:
    zero, factor = literal(0, x), literal(alpha, x)
    bent = expm1_element(binary("min", binary("div", x, factor), zero))
    curve = binary("min", binary("mul", factor, bent), zero)
    return binary("add", binary("max", x, zero), curve)


def softplus_element(x: Scalar) -> Scalar:
    small = unary("exp", unary("neg", unary("abs", x)))
    return binary("add", binary("max", x, literal(0, x)), log1p_element(small))


def softsign_element(x: Scalar) -> Scalar:
    return binary("div", x, binary("add", literal(1, x), unary("abs", x)))


def gelu_element(x: Scalar, *, approximate: str) -> Scalar:
    if approximate == "tanh":
        cube = binary("mul", binary("mul", x, x), x)
        line = binary("add", x, binary("mul", literal(GELU_CUBIC, x), cube))
        bend = unary("tanh", binary("mul", literal(SQRT_2_OVER_PI, x), line))
    else:
        bend = unary("erf", binary("mul", x, literal(SQRT_HALF, x)))
    half = binary("mul", literal(0.5, x), x)
    return binary("mul", half, binary("add", literal(1, x), bend))


def hard_swish_element(x: Scalar) -> Scalar:
    return binary("mul", x, hard_sigmoid_element(x, alpha=1 / 6, beta=0.5))


def mish_element(x: Scalar) -> Scalar:
    two = literal(2, x)
    e = unary("exp", binary("min", x, literal(MISH_LINEAR, x)))
    n = binary("mul", e, binary("add", e, two))
    return binary("mul", x, binary("div", n, binary("add", n, two)))


def shrink_element(x: Scalar, *, bias: float, lambd: float) -> Scalar:
    shift = literal(bias, x)
    above = compare("gt", x, literal(lambd, x))
    inner = select(above, binary("sub", x, shift), literal(0, x))
    return select(compare("lt", x, literal(-lambd, x)), binary("add", x, shift), inner)


def leaky_relu_element(x: Scalar, *, alpha: float) -> Scalar:
    return select(compare("lt", x, literal(0, x)), binary("mul", x, literal(alpha, x)), x)


def thresholded_relu_element(x: Scalar, *, alpha: float) -> Scalar:
    return select(compare("gt", x, literal(alpha, x)), x, literal(0, x))


def prelu_element(x: Scalar, slope: Scalar) -> Scalar:
    return select(compare("lt", x, literal(0, x)), binary("mul", x, slope), x)
