"""Random rounding shows how far rounding moves a result, at the ends of a dtype's range too."""

from __future__ import annotations

import numpy as np
import pytest

from reference_vm.oracle.estimate import Estimate
from reference_vm.oracle.evaluate import evaluate, spread
from reference_vm.text import parse


def widths(dtype: str, call: str, element: float) -> float:
    """Return how far eight results with random rounding are apart."""
    program = f"module {{ fn @main(%x: {dtype}[1]) -> {dtype}[1] {{ %r = {call} return %r }} }}"
    module, numpy = parse(program), {"f16": np.float16, "f64": np.float64}[dtype]
    args = [np.array([element], numpy)]
    runs = spread(module, "main", args, evaluate(module, "main", args))
    found = [float(run.value[0]) for run in runs if isinstance(run, Estimate)]
    return max(found) - min(found)


@pytest.mark.parametrize(
    ("dtype", "call", "element", "step"),
    [
        ("f64", "multiply(%x, %x)", 1.1e154, 2.0**971),
        ("f64", "multiply(%x, %x)", 1.1e-150, 2.0**-1049),
        ("f16", "shrink(%x, bias = 1.0)", 65504.0, 32.0),
        ("f16", "shrink(%x, bias = 1.0)", -65504.0, 32.0),
    ],
)
def test_the_spread_is_about_one_step(dtype: str, call: str, element: float, step: float) -> None:
    assert step / 8 < widths(dtype, call, element) < 4 * step


def test_what_overflows_does_so_in_every_run() -> None:
    assert np.isnan(widths("f16", "multiply(%x, %x)", 300.0))  # infinity less infinity
