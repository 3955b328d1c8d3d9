"""Softmax and layer norm in the loop IR: what becomes of one element, given its row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from reference_vm.loops.kernel import Rows
from reference_vm.loops.scalar import RowLength, Scalar, binary, fold, literal, unary


def _shifted(x: Scalar) -> Scalar:
    """Return ``x`` less the greatest element of its row."""
    return binary("sub", x, fold("max", x, -math.inf))


def _softmax(operands: Sequence[Any], _: Mapping[str, object]) -> Scalar:
    power = unary("exp", _shifted(operands[0]))
    return binary("div", power, fold("add", power, 0.0))


def _log_softmax(operands: Sequence[Any], _: Mapping[str, object]) -> Scalar:
    shifted = _shifted(operands[0])
    return binary("sub", shifted, unary("log", fold("add", unary("exp", shifted), 0.0)))


def _layer_norm(operands: Sequence[Any], attrs: Mapping[str, object]) -> Scalar:
    x, scale, *rest = operands
    length = RowLength(x.dtype)
    centred = binary("sub", x, binary("div", fold("add", x, 0.0), length))
    variance = binary("div", fold("add", binary("mul", centred, centred), 0.0), length)
    epsilon = attrs["epsilon"]
    assert isinstance(epsilon, float)
    deviation = unary("sqrt", binary("add", variance, literal(epsilon, x)))
    result = binary("mul", binary("div", centred, deviation), scale)
    bias = rest[0] if rest else None
    return result if bias is None else binary("add", result, bias)


SOFTMAX_ROWS: Final = Rows(_softmax)
LOG_SOFTMAX_ROWS: Final = Rows(_log_softmax)
LAYER_NORM_ROWS: Final = Rows(_layer_norm, to_end=True)

__all__ = ["LAYER_NORM_ROWS", "LOG_SOFTMAX_ROWS", "SOFTMAX_ROWS"]
