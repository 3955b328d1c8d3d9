"""Mutants whose values are nearly right: each is seen by one of the numeric checks alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from hettest.backend.protocol import Observation
from hettest.language import Module
from reference_vm.ops.catalog import OPS
from tests.mutants.kernels import Compute, computing
from tests.mutants.mutant import Mutant, kill

SUM: Final = "bugs/c34_intermediates/long_sum[all,default=sim:0]"
ROWS: Final = "bugs/c34_intermediates/long_sum[rows,default=sim:0]"
HIDDEN: Final = "bugs/c34_intermediates/masked_afterwards[hidden,default=sim:0]"
DECIDES: Final = "bugs/c34_intermediates/at_the_edge_of_a_decision[one-of-many,default=cpu:0]"
VIEWED: Final = (
    "bugs/c06_layout/views_from_accel[plain,view=offset,host=cpu:0,accel=sim:0,policy=copy]"
)
ODD: Final = "dtypes/zeros_of_odd_functions[zeros,dtype=f32,op=tanh,default=cpu:0]"
SIGNS: Final = "bugs/c21_float_rewrites/zeros_with_a_sign[plain,default=cpu:0]"


def _sum_off_by(parts: float) -> Compute:
    """Return a sum that is off by a part of itself, in units of the last place of 1."""

    def compute(xp: Any, x: Any, **attrs: Any) -> Any:
        total = np.asarray(OPS["sum"].compute(xp, x, **attrs))
        if total.dtype != np.float32:
            return total
        return (total.astype(np.float64) * (1 + parts * 2.0**-24)).astype(np.float32)

    return compute


def _exp_in_half(xp: Any, x: Any) -> Any:
    return np.exp(x.astype(np.float16)).astype(x.dtype)


def _exp_above_one(xp: Any, x: Any) -> Any:
    """Give the number after 1 for ``exp(0)``, which is within its bound."""
    powers = OPS["exp"].compute(xp, x)
    return np.where(x == 0, np.nextafter(powers, np.inf, dtype=powers.dtype), powers)


def _delivered_nearly(
    module: Module, device_map: Mapping[str, str], seen: Observation
) -> Observation:
    """Deliver floats two units in the last place above what was computed."""
    results: Any = seen.results
    for _ in range(2):
        results = np.nextafter(results, np.inf, dtype=results.dtype)
    return replace(seen, results=results)


def _widened(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
    results: Any = seen.results
    return replace(seen, results=results.astype(np.float64))


def _less_than_zero(xp: Any, x: Any) -> Any:
    return OPS["subtract"].compute(xp, np.zeros_like(x), x)


def _tanh_plus_nothing(xp: Any, x: Any) -> Any:
    """End in the sum of a series, which takes -0 and +0 for +0."""
    return OPS["tanh"].compute(xp, x) + np.zeros_like(x)


MUTANTS: Final = (
    Mutant(
        name="forgets-the-sign-of-zero",
        breaks="computes tanh of -0 as +0, as a sum of terms of either sign does",
        kills=(kill(ODD, "values"),),
        loading=(computing({"tanh": _tanh_plus_nothing}),),
    ),
    Mutant(
        name="decides-by-the-last-bit",
        breaks="computes exp(0) one bit above 1, which a comparison then turns into a wrong answer",
        kills=(kill(DECIDES, "values"),),
        loading=(computing({"exp": _exp_above_one}),),
    ),
    Mutant(
        name="computes-exp-in-half",
        fault_class="C34",
        breaks="computes exp in f16 where a mask hides it from the result",
        kills=(kill(HIDDEN, "values"),),
        loading=(computing({"exp": _exp_in_half}),),
    ),
    Mutant(
        name="sums-worse-on-the-accelerator",
        fault_class="C34",
        breaks="adds up less well on the accelerator than on the CPU",
        kills=(kill(SUM, "values"), kill(ROWS, "values")),
        loading=(computing({"sum": _sum_off_by(40)}, kinds=("sim",)),),
    ),
    Mutant(
        name="sums-badly-everywhere",
        fault_class="C34",
        breaks="adds up as badly on the CPU as on the accelerator",
        kills=(kill(SUM, "values"),),
        loading=(computing({"sum": _sum_off_by(2000)}),),
    ),
    Mutant(
        name="delivers-nearly",
        breaks="delivers what it computed two bits off",
        kills=(kill(VIEWED, "values"),),
        observation=_delivered_nearly,
    ),
    Mutant(
        name="widens-results",
        fault_class="C30",
        breaks="returns results of f32 as f64",
        kills=(kill(ROWS, "values"), kill(VIEWED, "values")),
        observation=_widened,
    ),
    Mutant(
        name="negates-by-subtracting",
        fault_class="C21",
        breaks="subtracts from 0 where it should change the sign, which a zero loses",
        kills=(kill(SIGNS, "values"),),
        loading=(computing({"negative": _less_than_zero}),),
    ),
)
