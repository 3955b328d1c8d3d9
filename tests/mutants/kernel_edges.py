"""Mutants whose operators go wrong at the edges: of nothing, of bits, of what is left out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from reference_vm.ops.catalog import OPS
from tests.mutants.kernels import computing
from tests.mutants.mutant import Mutant, kill

EMPTY: Final = "bugs/c33_empty/sums_over_nothing"
ORDER: Final = "bugs/c35_kernel_types/order_of_equal_bits"
LARGE: Final = "bugs/c34_intermediates/large_and_small[softmax,dtype=f32,default=cpu:0]"


def _unwritten_if_empty(xp: Any, x: Any, y: Any, **attrs: Any) -> Any:
    """Leave a product unwritten where there is nothing to add up."""
    product = OPS["matmul"].compute(xp, x, y, **attrs)
    return np.full_like(product, 123.0) if x.shape[-1] == 0 else product


def _as_signed(xp: Any, x: Any, **attrs: Any) -> Any:
    """Order integers as if all had a sign."""
    if x.dtype.kind != "u":
        return OPS["max"].compute(xp, x, **attrs)
    signed = x.view(x.dtype.str.replace("u", "i"))
    return OPS["max"].compute(xp, signed, **attrs).view(x.dtype)


def _combined_as_f32(xp: Any, x: Any, indices: Any, updates: Any, **attrs: Any) -> Any:
    """Scatter any four bytes as floats of 32 bits."""
    scatter = OPS["scatter_elements"].compute
    if x.dtype.itemsize != 4 or attrs["reduction"] == "none":
        return scatter(xp, x, indices, updates, **attrs)
    combined = scatter(xp, x.view(np.float32), indices, updates.view(np.float32), **attrs)
    return combined.view(x.dtype)


def _softmax_of_powers(xp: Any, x: Any, *, axis: int) -> Any:
    """Take a softmax without taking the greatest away first."""
    powers = np.exp(x)
    quotient: Any = powers / powers.sum(axis=axis, keepdims=True)
    return quotient


def _times_the_reciprocal(xp: Any, x: Any, y: Any) -> Any:
    return OPS["multiply"].compute(xp, x, OPS["reciprocal"].compute(xp, y))


def _from_the_start_alone(xp: Any, x: Any, indices: Any, **attrs: Any) -> Any:
    """Take -1 for 0, as if indices counted from the start alone and were clamped."""
    return OPS["take_along_axis"].compute(xp, x, np.maximum(indices, 0), **attrs)


def _no_upper_limit_is_zero(xp: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    """Take a missing upper bound of integers for 0."""
    missing = high is None and x.dtype.kind in "iu" and low is not None
    return OPS["clip"].compute(xp, x, low, x.dtype.type(0) if missing else high)


MUTANTS: Final = (
    Mutant(
        name="leaves-empty-products-unwritten",
        fault_class="C33",
        breaks="returns at once, with nothing written, where there is nothing to add up",
        kills=(
            kill(f"{EMPTY}[plain,k=known,default=cpu:0]", "values"),
            kill(f"{EMPTY}[batch,k=symbolic,default=sim:0]", "values"),
        ),
        loading=(computing({"matmul": _unwritten_if_empty}),),
    ),
    Mutant(
        name="orders-as-signed",
        fault_class="C35",
        breaks="compares integers without a sign by the kernel for those with one",
        kills=(
            kill(f"{ORDER}[plain,of=u32,default=cpu:0]", "values"),
            kill(f"{ORDER}[plain,of=u8,default=sim:0]", "values"),
        ),
        loading=(computing({"max": _as_signed}),),
    ),
    Mutant(
        name="scatters-by-width",
        fault_class="C35",
        breaks="combines any four bytes by the kernel for floats",
        kills=(
            kill(
                "bugs/c35_kernel_types/scatter_of_four_bytes[plain,dtype=i32,default=cpu:0]",
                "values",
            ),
        ),
        loading=(computing({"scatter_elements": _combined_as_f32}),),
    ),
    Mutant(
        name="softmax-without-the-greatest",
        fault_class="C34",
        breaks="takes a softmax of powers that overflow",
        kills=(kill(LARGE, "values"),),
        loading=(computing({"softmax": _softmax_of_powers}),),
    ),
    Mutant(
        name="multiplies-by-the-reciprocal",
        fault_class="C31",
        breaks="multiplies by the rounded reciprocal where it should divide",
        kills=(
            kill("bugs/c31_division/a_number_by_itself[plain,dtype=f32,default=cpu:0]", "values"),
        ),
        loading=(computing({"divide": _times_the_reciprocal}),),
    ),
    Mutant(
        name="counts-from-the-start-alone",
        fault_class="C32",
        breaks="takes the first element for a negative index",
        kills=(kill("bugs/c32_indices/negative[along,int=i64,default=cpu:0]", "values"),),
        loading=(computing({"take_along_axis": _from_the_start_alone}),),
    ),
    Mutant(
        name="takes-no-bound-for-zero",
        fault_class="C36",
        breaks="clips integers at 0 where no upper bound is given",
        kills=(
            kill("bugs/c36_validation/clip_without_a_bound[plain,of=i32,default=cpu:0]", "values"),
            kill("ops/clip/values[above,default=sim:0]", "values"),
        ),
        loading=(computing({"clip": _no_upper_limit_is_zero}),),
    ),
)
