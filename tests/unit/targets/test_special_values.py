"""Special values through every elementwise operator: kernels agree on zeros, infinities and NaN.

Compiled kernels and NumPy's give the same class of number with the same sign, in vectors, in
what is left after them, and behind another operator; odd functions keep the sign of a zero.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.diagnostics import CompileError
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import DTYPES

pytest.importorskip("numba")

FLOATS: Final = ("f16", "bf16", "f32", "f64")
SPECIAL: Final = (
    *(-0.0, 0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 6e-8, -6e-8, 1e-39, -1e-39),
    *(3e38, -3e38, 6e4, -6e4, 1e-3, -1e-3, 0.5, -0.5, 2.0, -2.0, 88.0, -88.0, 3.0, -3.0),
)
ODD: Final = (
    *("asin", "asinh", "atan", "atanh", "erf", "negative", "round", "sin", "sinh", "softsign"),
    *("sqrt", "tan", "tanh", "trunc"),
)
"""Functions of -0 that is a zero: -0, and of ``negative`` +0; IEEE 754 has it of the root, too."""

LENGTH: Final = 67
"""Of operands: some vectors, and a rest."""


def takes(op: OpDef) -> int:
    """Return how many operands an operator must have."""
    return sum(not operand.optional for operand in op.operands)


ELEMENTWISE: Final = [
    name
    for name, op in sorted(OPS.items())
    if Trait.ELEMENTWISE in op.traits and op.loops is not None and takes(op) in (1, 2)
]


def program(name: str, dtype: str, behind: bool) -> rv.Module | None:
    """Return the operator, maybe behind a ``negative``; ``None`` if it takes no such floats."""
    params = [f"%p{i}" for i in range(takes(OPS[name]))]
    given = ["%q", *params[1:]] if behind else params
    first = "%q = negative(%p0) " if behind else ""
    attrs = ", to = f32" if name == "cast" else ""
    for result in (f"{dtype}[n]", "bool[n]", "f32[n]"):
        typed = ", ".join(f"{p}: {dtype}[n]" for p in params)
        call = f"{first}%r = {name}({', '.join(given)}{attrs})"
        module = rv.parse(f"module {{ fn @main({typed}) -> {result} {{ {call} return %r }} }}")
        try:
            rv.compile(module, "host=cpu:0", executor="numpy")
        except CompileError:
            continue
        return module
    return None


def operands(name: str, dtype: str) -> list[Any]:
    with np.errstate(all="ignore"):
        values = np.array(SPECIAL, np.float64).astype(to_numpy(DTYPES[dtype]))
    if takes(OPS[name]) == 1:
        return [np.resize(values, LENGTH)]
    return [np.repeat(values, len(values)), np.tile(values, len(values))]


def classes(array: Any) -> Any:
    """Return a number for each element: NaN, or infinite, zero or neither, with its sign."""
    values = np.asarray(array, np.float64)
    kinds = np.where(np.isinf(values), 3, np.where(values == 0, 1, 2))
    return np.where(np.isnan(values), 9, np.where(np.signbit(values), -kinds, kinds))


def run(module: rv.Module, args: list[Any], executor: str) -> Any:
    return rv.Session(rv.compile(module, "host=cpu:0", executor=executor)).run("main", *args)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_compiled_kernels_have_the_special_values_of_numpy(name: str) -> None:
    wrong = []
    for dtype in FLOATS:
        args = operands(name, dtype)
        for behind in (False, True):
            module = program(name, dtype, behind)
            if module is None:
                continue
            found, meant = run(module, args, "numba"), run(module, args, "numpy")
            for at in np.flatnonzero(classes(found) != classes(meant)):
                given = [float(a[at]) for a in args]
                wrong.append((dtype, behind, given, float(found[at]), float(meant[at])))
    assert wrong == []


def test_most_operators_take_floats() -> None:
    """The test above is not empty where it should not be."""
    taking = [n for n in ELEMENTWISE if program(n, "f32", behind=False) is not None]
    assert len(taking) > 50
    assert {*ODD} & {*OPS} <= {*taking}


@pytest.mark.parametrize("executor", ["numba", "numpy"])
@pytest.mark.parametrize("name", [n for n in ODD if n in OPS])
def test_odd_functions_keep_the_sign_of_a_zero(name: str, executor: str) -> None:
    for dtype in FLOATS:
        module = program(name, dtype, behind=False)
        assert module is not None
        zeros = np.resize(np.array([-0.0, 0.0], to_numpy(DTYPES[dtype])), LENGTH)

        found = np.asarray(run(module, [zeros], executor), np.float64)

        meant = -np.asarray(zeros, np.float64) if name == "negative" else zeros
        np.testing.assert_array_equal(found, 0)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(meant.astype(np.float64)))
