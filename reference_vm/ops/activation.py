"""Activations of neural networks, element by element (ONNX).

Each is written so that no intermediate value overflows or cancels where the result does not; so are
the loop rules, in `activation_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reference_vm.loops.kernel import Elementwise
from reference_vm.loops.scalar import Scalar, binary, literal
from reference_vm.ops.activation_rules import (
    GELU_CUBIC,
    MISH_LINEAR,
    SQRT_2_OVER_PI,
    SQRT_HALF,
    celu_element,
    elu_element,
    gelu_element,
    hard_sigmoid_element,
    hard_swish_element,
    leaky_relu_element,
    mish_element,
    prelu_element,
    selu_element,
    shrink_element,
    sigmoid_element,
    softplus_element,
    softsign_element,
    thresholded_relu_element,
)
from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.definition import Array, Attr, Namespace, OpCall, OpDef, Operand
from reference_vm.ops.elementary import erf_f64
from reference_vm.ops.elementwise import EXACT, ROUNDED, X, constant, loop, operator
from reference_vm.ops.numerics import lifted
from reference_vm.ops.shapes import broadcast, is_different, mismatch
from reference_vm.types import TensorType
from reference_vm.types.dtype import FLOATS, NUMERIC


def _relu(xp: Namespace, x: Array) -> Array:
    return xp.maximum(x, constant(x, 0))


def _sigmoid(xp: Namespace, x: Array) -> Array:
    small = xp.exp(-xp.abs(x))
    one = constant(x, 1)
    return xp.where(x >= 0, one, small) / (one + small)


def _leaky_relu(xp: Namespace, x: Array, *, alpha: float) -> Array:
    return xp.where(x < 0, x * constant(x, alpha), x)


def _hard_sigmoid(xp: Namespace, x: Array, *, alpha: float, beta: float) -> Array:
    line = x * constant(x, alpha) + constant(x, beta)
    return xp.maximum(xp.minimum(line, constant(x, 1)), constant(x, 0))


def _elu(xp: Namespace, x: Array, *, alpha: float) -> Array:
    return xp.where(x > 0, x, constant(x, alpha) * xp.expm1(xp.minimum(x, constant(x, 0))))


def _selu(xp: Namespace, x: Array, *, alpha: float, gamma: float) -> Array:
    return constant(x, gamma) * _elu(xp, x, alpha=alpha)


def _celu(xp: Namespace, x: Array, *, alpha: float) -> Array:
    zero = constant(x, 0)
    curve = constant(x, alpha) * xp.expm1(xp.minimum(x / constant(x, alpha), zero))
    return xp.maximum(x, zero) + xp.minimum(curve, zero)


def _softplus(xp: Namespace, x: Array) -> Array:
    return xp.maximum(x, constant(x, 0)) + xp.log1p(xp.exp(-xp.abs(x)))


def _softsign(xp: Namespace, x: Array) -> Array:
    return x / (constant(x, 1) + xp.abs(x))


def _gelu(xp: Namespace, x: Array, *, approximate: str) -> Array:
    wide = x.astype(xp.float64)
    if approximate == "tanh":
        inner = SQRT_2_OVER_PI * (wide + GELU_CUBIC * wide * wide * wide)
        bend = xp.tanh(inner)
    else:
        bend = erf_f64(xp, wide * SQRT_HALF)
    return xp.asarray(0.5 * wide * (1.0 + bend)).astype(x.dtype)


def _hard_swish(xp: Namespace, x: Array) -> Array:
    return x * _hard_sigmoid(xp, x, alpha=1 / 6, beta=0.5)


def _mish(xp: Namespace, x: Array) -> Array:
    e = xp.exp(xp.minimum(x, constant(x, MISH_LINEAR)))
    n = e * (e + constant(x, 2))
    return x * (n / (n + constant(x, 2)))


def _thresholded_relu(xp: Namespace, x: Array, *, alpha: float) -> Array:
    return xp.where(x > constant(x, alpha), x, constant(x, 0))


def _shrink(xp: Namespace, x: Array, *, bias: float, lambd: float) -> Array:
    low, high = constant(x, -lambd), constant(x, lambd)
    inner = xp.where(x > high, x - constant(x, bias), constant(x, 0))
    return xp.where(x < low, x + constant(x, bias), inner)


def _infer_prelu(call: OpCall) -> TensorType:
    x, slope = tensor_of(call, 0, FLOATS), tensor_of(call, 1, FLOATS)
    agree_on_dtype(call, (0, 1))
    shape = broadcast(call, (x.shape, slope.shape))
    if x.shape is not None and shape is not None:
        grown = len(shape) > len(x.shape) or any(map(is_different, shape, x.shape))
        if grown:
            raise mismatch(call, x.shape, slope.shape)
    return TensorType(x.dtype, x.shape)


def _prelu(xp: Namespace, x: Array, slope: Array) -> Array:
    return xp.where(x < 0, x * slope, x)


def with_attrs(element: Callable[..., Scalar]) -> Elementwise:
    """Return the loop rule of an operator whose attributes are ``element``'s keywords."""

    def rule(operands: Sequence[Scalar], attrs: Mapping[str, object]) -> Scalar:
        return element(*operands, **attrs)

    return Elementwise(rule)


def _floats(**defaults: float) -> dict[str, Attr]:
    return {name: Attr((float,), value) for name, value in defaults.items()}


def _activation(
    name: str,
    summary: str,
    compute: Callable[..., Any],
    element: Callable[..., Scalar],
    **defaults: float,
) -> OpDef:
    return operator(
        name,
        summary,
        FLOATS,
        compute,
        with_attrs(element),
        attrs=_floats(**defaults),
        origin="onnx",
    )


OPS: Final[tuple[OpDef, ...]] = (
    operator(
        "relu",
        "0 below 0; NaN stays.",
        NUMERIC,
        _relu,
        loop(lambda x: binary("max", x, literal(0, x))),
        traits=EXACT,
        origin="onnx",
    ),
    _activation("sigmoid", "1 / (1 + exp(-x)).", _sigmoid, sigmoid_element),
    _activation("leaky_relu", "alpha * x below 0.", _leaky_relu, leaky_relu_element, alpha=0.01),
    _activation(
        "hard_sigmoid",
        "alpha * x + beta, kept in 0..1.",
        _hard_sigmoid,
        hard_sigmoid_element,
        alpha=0.2,
        beta=0.5,
    ),
    _activation("elu", "alpha * (exp(x) - 1) up to 0.", _elu, elu_element, alpha=1.0),
    _activation(
        "selu",
        "gamma * elu(x).",
        _selu,
        selu_element,
        alpha=1.67326319217681884765625,
        gamma=1.05070102214813232421875,
    ),
    _activation(
        "celu",
        "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).",
        _celu,
        celu_element,
        alpha=1.0,
    ),
    _activation("softplus", "log(1 + exp(x)).", _softplus, softplus_element),
    _activation("softsign", "x / (1 + |x|).", _softsign, softsign_element),
    operator(
        "gelu",
        "x times the normal distribution's cumulative function, exact or by tanh.",
        FLOATS,
        _gelu,
        with_attrs(gelu_element),
        attrs={"approximate": Attr((str,), "none", ("none", "tanh"))},
        origin="onnx",
    ),
    _activation("hard_swish", "x * hard_sigmoid(x), 1/6 and 1/2.", _hard_swish, hard_swish_element),
    _activation("mish", "x * tanh(softplus(x)).", _mish, mish_element),
    _activation(
        "thresholded_relu",
        "x above alpha, else 0.",
        _thresholded_relu,
        thresholded_relu_element,
        alpha=1.0,
    ),
    _activation(
        "shrink",
        "Bring towards 0 by bias beyond lambd, 0 within.",
        _shrink,
        shrink_element,
        bias=0.0,
        lambd=0.5,
    ),
    OpDef(
        name="prelu",
        summary="slope * x below 0; slope broadcasts to x.",
        operands=(X, Operand("slope")),
        infer=_infer_prelu,
        compute=lifted(_prelu),
        loops=loop(prelu_element),
        traits=ROUNDED,
        origin="onnx",
    ),
)
