"""Can a tensor that a case writes down be? Its elements are of its dtype, and as many as it has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, TypeAlias

from hettest.case.model import Random, Tensor
from hettest.language import DTYPES, DType

Number: TypeAlias = "float | int | bool"

MOST: Final = 1 << 24
"""Elements that one tensor of a case may have."""

_LARGEST: Final = {
    "f16": 65504.0,
    "bf16": (2 - 2**-7) * 2.0**127,
    "f32": (2 - 2**-23) * 2.0**127,
    "f64": (2 - 2**-52) * 2.0**1023,
}
"""The largest finite value of each float dtype; greater ones are within half a step of it or
infinite."""


def wrong_tensor(tensor: Tensor) -> str | None:
    """Return what is wrong with a tensor as it is written, or ``None``; looks into no file."""
    return next(_wrong(tensor), None)


def _wrong(tensor: Tensor) -> Iterator[str]:
    dtype, elements = DTYPES[tensor.dtype], math.prod(tensor.shape)
    if elements > MOST:
        yield f"has {elements} elements; a case may write down {MOST}"
    if tensor.data is not None:
        if len(tensor.data) != elements:
            shape = list(tensor.shape)
            yield f"found {len(tensor.data)} elements, expected {elements} for {shape}"
        yield from (wrong for wrong in (_misfit(e, dtype) for e in tensor.data) if wrong)
    if tensor.fill is not None and (wrong := _misfit(tensor.fill, dtype)):
        yield wrong
    if tensor.hex is not None and len(tensor.hex) != 2 * elements * dtype.itemsize:
        yield (
            f"found {len(tensor.hex) // 2} bytes, expected {elements * dtype.itemsize} for "
            f"{dtype}{list(tensor.shape)}"
        )
    if tensor.cycle == "subnormals" and not dtype.is_float:
        yield f"{dtype} has no subnormal numbers"
    if tensor.random is not None:
        yield from _wrong_random(tensor.random, dtype)


def _misfit(element: Number, dtype: DType) -> str | None:
    """Return why ``element`` is none of ``dtype``'s, or ``None``; floats may be rounded."""
    if dtype.is_bool or isinstance(element, bool):
        fits = dtype.is_bool and isinstance(element, bool)
        return None if fits else f"{_shown(element)} is not of dtype {dtype}"
    if dtype.is_integer:
        if not isinstance(element, int):
            return f"{_shown(element)} is not an integer, as {dtype} needs"
        fits = dtype.minimum <= element <= dtype.maximum
        return None if fits else f"{_shown(element)} is out of the range of {dtype}"
    return None if _is_held(element, dtype) else f"{_shown(element)} overflows {dtype}"


def _is_held(element: float, dtype: DType) -> bool:
    """Whether a number is infinite or NaN as written, or finite in ``dtype``."""
    largest = _LARGEST[dtype.name]
    if isinstance(element, float) and not math.isfinite(element):
        return True
    return -largest <= element <= largest


def _shown(element: Number) -> str:
    text = str(element).lower() if isinstance(element, bool) else str(element)
    return text if len(text) <= 40 else f"{text[:20]}… ({len(text)} digits)"


def _wrong_random(random: Random, dtype: DType) -> Iterator[str]:
    low, high = random.low, random.high
    if not 0 <= random.seed < 1 << 64:
        yield f"the seed {random.seed} is out of the range of u64"
    if not (_is_finite(low) and _is_finite(high)):
        yield f"low = {low}, high = {high}: both must be finite"
    elif low > high:
        yield f"low = {low} is greater than high = {high}"
    elif dtype.is_float:
        wrong = next(filter(None, (_misfit(bound, dtype) for bound in (low, high))), None)
        if wrong is not None:
            yield wrong
        elif not math.isfinite(float(high) - float(low)):
            yield f"high - low overflows between {low} and {high}"
    else:
        least, most = (0, 1) if dtype.is_bool else (dtype.minimum, dtype.maximum)
        if low < least or high > most:
            yield f"low = {low}, high = {high}: beyond the range of {dtype}"


def _is_finite(bound: float) -> bool:
    return isinstance(bound, int) or math.isfinite(bound)
