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


@pytest.mark.parametrize("reduction", ["add", "mul"])
def test_elements_that_are_combined_spread_and_others_do_not(reduction: str) -> None:
    program = f"""module {{
      fn @main(%x: f32[2, 1], %i: i64[1, 1], %u: f32[1, 1]) -> f32[2, 1] {{
        %r = scatter_elements(%x, %i, %u, axis = 0, reduction = "{reduction}")
        return %r
      }}
    }}"""
    x, i = np.array([[1.5], [3.25]], np.float32), np.array([[1]])
    args, module = [x, i, np.array([[1.1]], np.float32)], parse(program)

    first = evaluate(module, "main", args)
    runs = spread(module, "main", args, first)

    assert isinstance(first.result, Estimate)
    assert first.result.errors[0, 0] == 0 < first.result.errors[1, 0]
    found = np.stack([run.value for run in runs if isinstance(run, Estimate)])
    assert np.ptp(found, axis=0)[0, 0] == 0 < np.ptp(found, axis=0)[1, 0]


def test_a_bias_that_outweighs_the_products_is_rounded_too() -> None:
    program = """module {
      fn @main(%x: f32[1, 1, 1], %w: f32[1, 1, 1], %b: f32[1]) -> f32[1, 1, 1] {
        %r = conv(%x, %w, %b)
        return %r
      }
    }"""
    args = [np.full((1, 1, 1), v, np.float32) for v in (1e-4, 1.0)] + [np.full(1, 100, np.float32)]
    module = parse(program)

    runs = spread(module, "main", args, evaluate(module, "main", args))

    found = [float(run.value.item()) for run in runs if isinstance(run, Estimate)]
    assert max(found) - min(found) > 1e-6
