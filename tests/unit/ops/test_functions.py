"""Elementary functions and activations: precise against Python's math, quiet, and shape-true."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from reference_vm.ops.catalog import FAMILIES, OPS
from reference_vm.ops.definition import DataError, OpDef
from reference_vm.ops.typing import fill_attrs
from reference_vm.types import NO_ATTRS, DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import FLOATS
from tests.unit.ops.values import array, python, special

ALPHA, GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
"""Those of selu, as ONNX writes them."""

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "erf": math.erf,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "leaky_relu": lambda x: x if x >= 0 else 0.01 * x,
    "hard_sigmoid": lambda x: max(0.0, min(1.0, 0.2 * x + 0.5)),
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "selu": lambda x: GAMMA * (x if x > 0 else ALPHA * math.expm1(x)),
    "celu": lambda x: x if x > 0 else math.expm1(x),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "softsign": lambda x: x / (1 + abs(x)),
    "gelu": lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
    "hard_swish": lambda x: x * max(0.0, min(1.0, x / 6 + 0.5)),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "thresholded_relu": lambda x: x if x > 1 else 0.0,
    "shrink": lambda x: x if abs(x) > 0.5 else 0.0,
}
_STEEP = {"hard_sigmoid": 1.0, "hard_swish": 4.0, "gelu": 4.0, "leaky_relu": 1.0}
"""Functions that are precise to this magnitude of their parts, not to that of their result."""

NAMES = [op.name for f in ("elementary functions", "activations") for op in FAMILIES[f]]
EVERY_FUNCTION = pytest.mark.parametrize("name", FUNCTIONS)
EVERY_FLOAT = pytest.mark.parametrize("dtype", FLOATS, ids=str)


def test_every_function_is_tried() -> None:
    assert set(NAMES) - {"relu", "prelu"} == set(FUNCTIONS)


def _defined(function: Callable[[float], float], x: float) -> bool:
    try:
        function(x)
    except ValueError:
        return False
    return True


@EVERY_FLOAT
@EVERY_FUNCTION
def test_functions_are_within_4_ulp_of_pythons(name: str, dtype: DType) -> None:
    op, function = OPS[name], FUNCTIONS[name]
    points = array(dtype, np.linspace(-4.0, 4.0, 401))
    x = array(dtype, [v for v in python(points) if _defined(function, v)])
    assert x.size
    found = op.compute(np, x, **fill_attrs(op, NO_ATTRS))
    assert found.dtype == x.dtype
    unit = 2 * dtype.unit_roundoff
    for value, got in zip(python(x), python(found), strict=True):
        expected = function(value)
        scale = max(abs(expected), _STEEP.get(name, 0.0), 1e-300)
        assert abs(got - expected) <= 4 * unit * scale, (value, got, expected)


@EVERY_FLOAT
@pytest.mark.parametrize("name", NAMES)
def test_special_values_give_no_warning_and_nan_gives_nan(name: str, dtype: DType) -> None:
    op = OPS[name]
    x = array(dtype, special(dtype))
    operands = (x, x) if name == "prelu" else (x,)
    found = python(op.compute(np, *operands, **fill_attrs(op, NO_ATTRS)))
    assert math.isnan(found[-1]) or name in ("thresholded_relu", "shrink")


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("sigmoid", -1000.0, 0.0),
        ("sigmoid", 1000.0, 1.0),
        ("sigmoid", -100.0, math.exp(-100.0)),
        ("softplus", 1000.0, 1000.0),
        ("softplus", -100.0, math.exp(-100.0)),
        ("softplus", -math.inf, 0.0),
        ("mish", 1000.0, 1000.0),
        ("elu", -1000.0, -1.0),
        ("elu", 1e-10, 1e-10),
        ("elu", -1e-10, math.expm1(-1e-10)),
        ("gelu", 40.0, 40.0),
        ("gelu", -40.0, 0.0),
        ("exp", 1000.0, math.inf),
        ("log", 0.0, -math.inf),
        ("atanh", 1.0, math.inf),
        ("erf", -math.inf, -1.0),
        ("tanh", math.inf, 1.0),
        ("softsign", 1e300, 1.0),
    ],
)
def test_far_and_near_values_neither_overflow_nor_cancel(
    name: str, x: float, expected: float
) -> None:
    op = OPS[name]
    (found,) = python(op.compute(np, np.asarray([x]), **fill_attrs(op, NO_ATTRS)))
    assert found == pytest.approx(expected, rel=1e-14, abs=0)


def test_attributes_bend_the_activations() -> None:
    x = np.asarray([-2.0, 2.0])

    def run(name: str, **attrs: float) -> list[float]:
        op = OPS[name]
        found: list[float] = op.compute(np, x, **{**fill_attrs(op, NO_ATTRS), **attrs}).tolist()
        return found

    assert run("leaky_relu", alpha=0.5) == [-1.0, 2.0]
    assert run("hard_sigmoid", alpha=0.25, beta=0.25) == [0.0, 0.75]
    assert run("elu", alpha=2.0) == pytest.approx([2 * math.expm1(-2), 2.0])
    assert run("celu", alpha=2.0) == pytest.approx([2 * math.expm1(-1), 2.0])
    assert run("selu", alpha=2.0, gamma=3.0) == pytest.approx([6 * math.expm1(-2), 6.0])
    assert run("thresholded_relu", alpha=3.0) == [0.0, 0.0]
    assert run("shrink", bias=1.0, lambd=1.5) == [-1.0, 1.0]


def test_gelu_by_tanh_is_near_gelu_and_not_it() -> None:
    x = np.linspace(-3, 3, 13)
    exact = OPS["gelu"].compute(np, x, approximate="none")
    close = OPS["gelu"].compute(np, x, approximate="tanh")
    assert np.abs(exact - close).max() < 2e-3
    assert not np.array_equal(exact, close)


ELEMENTWISE = [
    op
    for family in ("arithmetic", "elementary functions", "activations")
    for op in FAMILIES[family]
]


@EVERY_FLOAT
@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_results_are_arrays_of_the_operands_shape(op: OpDef, dtype: DType) -> None:
    if op.name == "trunc_divide":
        return
    for shape in ((), (0,), (2, 0, 3), (1, 2)):
        x = np.ones(shape, to_numpy(dtype))
        found = op.compute(np, *[x] * len(op.operands), **fill_attrs(op, NO_ATTRS))
        assert isinstance(found, np.ndarray)
        assert found.shape == shape
        assert found.dtype == x.dtype


def test_shapes_that_do_not_broadcast_are_an_error_of_the_run() -> None:
    for name in ("add", "less", "matmul"):
        with pytest.raises(DataError) as raised:
            OPS[name].compute(np, np.ones((2, 2)), np.ones((3, 3)))
        assert raised.value.code == "shape-mismatch"
