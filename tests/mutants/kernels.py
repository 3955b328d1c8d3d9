"""Mutants whose operators compute something else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final

import numpy as np

from reference_vm import linking
from reference_vm.ops.catalog import OPS
from reference_vm.targets.catalog import target_for
from reference_vm.targets.numpy import NumpyTarget
from tests.mutants.mutant import Mutant, Replacement, kill

Compute = Callable[..., Any]

_number: Final = count()
KINDS: Final = ("cpu", "sim")


def computing(changed: Mapping[str, Compute], kinds: Collection[str] = KINDS) -> Replacement:
    """Return a linker whose kernels compute some operators differently on some kinds of device."""
    ops = {**OPS, **{name: replace(OPS[name], compute=c) for name, c in changed.items()}}
    # Kernels are kept by their target's name: these are nobody else's.
    target = NumpyTarget(name=f"numpy, changed {next(_number)}", ops=ops)
    return Replacement(
        linking,
        "target_for",
        lambda kind, executor=None: target if kind in kinds else target_for(kind, executor),
    )


def _swapped(name: str) -> Compute:
    return lambda xp, x, y: OPS[name].compute(xp, y, x)


def _other_axis(name: str) -> Compute:
    return lambda xp, x, *, axis: OPS[name].compute(xp, x, axis=axis - 1)


def _cyclic_add(xp: Any, x: Any, y: Any) -> Any:
    """Broadcast by repeating elements in memory order, as if only leading axes were missing."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    return OPS["add"].compute(xp, np.resize(x, shape), np.resize(y, shape))


def _sum_without_nan(xp: Any, x: Any, **attrs: Any) -> Any:
    return OPS["sum"].compute(xp, np.where(np.isnan(x), x.dtype.type(0), x), **attrs)


def _saturating_add(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return OPS["add"].compute(xp, x, y)
    limits = np.iinfo(x.dtype)
    wide = x.astype(np.int64) + y.astype(np.int64)
    return np.clip(wide, limits.min, limits.max).astype(x.dtype)


def _sum_in_half(xp: Any, x: Any, **attrs: Any) -> Any:
    if x.dtype != np.float16:
        return OPS["sum"].compute(xp, x, **attrs)
    total = np.float16(0)
    for element in x.reshape(-1):
        total = np.float16(total + element)
    return np.asarray(total)


def _multiply_in_f32(xp: Any, x: Any, y: Any) -> Any:
    return (x.astype(np.float32) * y.astype(np.float32)).astype(np.int64).astype(x.dtype)


def _slice_one_later(xp: Any, x: Any, *bounds: Any) -> Any:
    return OPS["slice"].compute(xp, np.roll(x, -1, axis=-1), *bounds)


def _zero_for_division_by_zero(xp: Any, x: Any, y: Any) -> Any:
    safe = OPS["floor_divide"].compute(xp, x, np.where(y == 0, y.dtype.type(1), y))
    return np.where(y == 0, x.dtype.type(0), safe)


def _clamped_take(xp: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return np.take(x, indices, axis=axis, mode="clip")


def _abs_in_place(xp: Any, x: Any) -> Any:
    return np.abs(x, out=x)


def _round_half_up(xp: Any, x: Any) -> Any:
    return np.floor(x + x.dtype.type(0.5))


MUTANTS: Final = (
    Mutant(
        name="swaps-operands",
        breaks="subtracts the wrong way round",
        kills=(
            kill("placement/subtract_order[plain,host=cpu:0,accel=sim:0,policy=copy]", "values"),
            kill("ops/subtract/floats[broadcast,default=sim:0]", "values"),
        ),
        loading=(computing({"subtract": _swapped("subtract")}),),
    ),
    Mutant(
        name="wrong-broadcast",
        fault_class="C36",
        breaks="repeats elements in memory order, right for missing leading axes only",
        kills=(
            kill("ops/add/inner_broadcast[column,default=cpu:0]", "values"),
            kill("ops/add/inner_broadcast[outer,default=sim:0]", "values"),
        ),
        loading=(computing({"add": _cyclic_add}),),
    ),
    Mutant(
        name="wrong-axis",
        breaks="takes softmax along the axis before",
        kills=(kill("ops/softmax/values[rows,default=cpu:0]", "values"),),
        loading=(computing({"softmax": _other_axis("softmax")}),),
    ),
    Mutant(
        name="drops-nan-in-maximum",
        fault_class="C29",
        breaks="takes the other operand where one is NaN",
        kills=(kill("ops/maximum/floats[special,default=sim:0]", "values"),),
        loading=(computing({"maximum": lambda xp, x, y: np.fmax(x, y)}),),
    ),
    Mutant(
        name="drops-nan-in-sum",
        fault_class="C29",
        breaks="leaves NaN out of sums",
        kills=(kill("ops/sum/values[special,default=cpu:0]", "values"),),
        loading=(computing({"sum": _sum_without_nan}),),
    ),
    Mutant(
        name="slices-one-off",
        fault_class="C32",
        breaks="begins every slice one element late",
        kills=(
            kill("ops/slice/values[clamped,default=cpu:0]", "values"),
            kill("ops/slice/values[backwards,default=sim:0]", "values"),
        ),
        loading=(computing({"slice": _slice_one_later}),),
    ),
    Mutant(
        name="saturates",
        fault_class="C30",
        breaks="adds integers up to their limits instead of wrapping",
        kills=(
            kill("ops/add/wrap_u8[edges,default=cpu:0]", "values"),
            kill("ops/add/wrap_i32[edges,default=sim:0]", "values"),
        ),
        loading=(computing({"add": _saturating_add}),),
    ),
    Mutant(
        name="sums-in-half-precision",
        fault_class="C34",
        breaks="keeps the running sum of f16 in f16",
        kills=(kill("ops/sum/half[ones,default=cpu:0]", "values"),),
        loading=(computing({"sum": _sum_in_half}),),
    ),
    Mutant(
        name="integers-through-f32",
        fault_class="C30",
        breaks="multiplies i32 in f32, which has 24 bits",
        kills=(kill("ops/multiply/wrap_i32[edges,default=cpu:0]", "values"),),
        loading=(computing({"multiply": _multiply_in_f32}),),
    ),
    Mutant(
        name="rounds-half-up",
        fault_class="C31",
        breaks="rounds halves up instead of to even",
        kills=(kill("ops/round/values[values,default=cpu:0]", "values"),),
        loading=(computing({"round": _round_half_up}),),
    ),
    Mutant(
        name="swallows-division-by-zero",
        fault_class="C36",
        breaks="gives 0 where an integer is divided by 0",
        kills=(kill("ops/floor_divide/integers[by-zero,default=cpu:0]", "diagnostics"),),
        loading=(computing({"floor_divide": _zero_for_division_by_zero}),),
    ),
    Mutant(
        name="clamps-indices",
        fault_class="C32",
        breaks="takes the nearest element for an index outside",
        kills=(kill("ops/take/values[outside,default=sim:0]", "diagnostics"),),
        loading=(computing({"take": _clamped_take}),),
    ),
    Mutant(
        name="writes-its-argument",
        fault_class="C15",
        breaks="computes in place, over the caller's array",
        kills=(kill("ops/abs/values[values,default=cpu:0]", "arguments"),),
        loading=(computing({"abs": _abs_in_place}),),
    ),
)
