"""Transcendental functions are within 2 ULP everywhere, and right at special values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special as scipy_special

from reference_vm.ops.catalog import OPS
from reference_vm.types import TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dim import symbol
from reference_vm.types.dtype import BF16, F16, F32, F64, DType
from tests.unit.targets.kernels import compiled, one_call

Function = Callable[..., Any]

UNARY: dict[str, Function] = {
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": scipy_special.erf,
}
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38],
    np.float32,
)


def inputs() -> Any:
    """Every 40,001st f32 of either sign, what lies densely around 0 and 1, and special values."""
    bits = np.arange(0, 2**32, 40_001, dtype=np.uint64).astype(np.uint32)
    every = bits.view(np.float32)
    dense = np.linspace(-12, 12, 100_001, dtype=np.float32)
    edges = np.linspace(-104.5, 89.5, 50_001, dtype=np.float32)
    return np.concatenate([SPECIAL, every[~np.isnan(every)], dense, edges])


def ulps(found: Any, exact: Any) -> Any:
    """How many f32 spacings, 2**-149 at least, lie between results and the exact values."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        same = (found == rounded) | (np.isnan(found) & np.isnan(exact))
        spacing = np.exp2(np.clip(np.frexp(exact)[1], -125, 128) - 24.0)
        apart = np.abs(found.astype(np.float64) - exact) / spacing
    apart[same] = 0.0
    apart[np.isnan(apart)] = math.inf
    return apart


def run(name: str, *operands: Any, dtype: DType = F32) -> Any:
    types = [TensorType(dtype, (symbol("n"),)) for _ in operands]
    (found,) = compiled(one_call(OPS[name], types))(np, operands, [None])
    return found


@pytest.mark.parametrize("name", UNARY)
def test_function_of_f32_is_within_two_ulps(name: str) -> None:
    x = inputs()
    with np.errstate(all="ignore"):
        exact = UNARY[name](x.astype(np.float64))
    apart = ulps(run(name, x), exact)
    worst = int(np.argmax(apart))
    assert apart[worst] <= 2.0, f"{name}({x[worst]!r}) is {apart[worst]} ULP off"


def test_power_is_within_two_ulps() -> None:
    generator = np.random.default_rng(3)
    x = np.exp(generator.uniform(-20, 20, 200_000)).astype(np.float32)
    x[::3] *= -1
    y = generator.uniform(-12, 12, x.size).astype(np.float32)
    y[::2] = np.round(y[::2])
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    assert ulps(run("pow", x, y), exact).max() <= 2.0


def test_power_of_special_values_is_that_of_c() -> None:
    values = np.concatenate([SPECIAL, np.array([2.0, -2.0, 3.0, 0.5, -0.5, 2.5], np.float32)])
    x, y = (a.ravel().copy() for a in np.meshgrid(values, values))
    expected = np.array([_power(a, b) for a, b in zip(x, y, strict=True)])
    found = run("pow", x, y)
    apart = ulps(found, expected)
    worst = int(np.argmax(apart))
    assert apart[worst] <= 2.0, f"pow({x[worst]}, {y[worst]}) is {found[worst]}"


def _power(x: Any, y: Any) -> float:
    """C's ``pow``; NumPy's takes a root for 0.5, which differs for -inf."""
    try:
        return math.pow(x, y)
    except (ValueError, OverflowError):  # what Python refuses, C gives as infinity or NaN
        with np.errstate(all="ignore"):
            return float(np.power(np.float64(x), np.float64(y)))


def every_half(dtype: DType) -> Any:
    """Return every number of 16 bits."""
    values = np.arange(2**16, dtype=np.uint32).astype(np.uint16).view(to_numpy(dtype))
    return values[~np.isnan(values.astype(np.float32))]


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_function_of_every_half_is_the_nearest_or_next_to_it(name: str, dtype: DType) -> None:
    x = every_half(dtype)
    found = run(name, x, dtype=dtype).astype(np.float64)
    with np.errstate(all="ignore"):
        exact = UNARY[name](x.astype(np.float64))
        nearest = exact.astype(np.float32).astype(to_numpy(dtype)).astype(np.float64)
        least = -133 if dtype == BF16 else -24
        spacing = np.exp2(np.maximum(np.frexp(exact)[1] - dtype.significand, least))
        close = (found == nearest) | (np.abs(found - exact) <= spacing)
    right = close | (np.isnan(found) & np.isnan(exact))
    assert right.all(), f"{name}({x[~right][0]!r}) is {found[~right][0]}"


def wide_inputs() -> Any:
    generator = np.random.default_rng(2)
    bits = generator.integers(0, 2**64, 20_000, dtype=np.uint64)
    every = bits.view(np.float64)
    dense = np.linspace(-12, 12, 20_001)
    edges = np.linspace(-746, 710, 10_001)
    special = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1.7e308])
    return np.concatenate([special, every[~np.isnan(every)], dense, edges])


@pytest.mark.parametrize("name", UNARY)
def test_function_of_f64_is_within_two_ulps(name: str) -> None:
    x = wide_inputs()
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble)
        exact = UNARY[name](x if name == "erf" else wide).astype(np.longdouble)
        found = run(name, x, dtype=F64)
        rounded = exact.astype(np.float64)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        apart = np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(rounded))
    apart[same] = 0.0
    worst = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
    assert apart[worst] <= 2.0, f"{name}({x[worst]!r}) is {apart[worst]} ULP off"
