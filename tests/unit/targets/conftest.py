"""Operand values with the special cases of their dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference_vm.types import DType, TensorType
from reference_vm.types.arrays import to_numpy


@pytest.fixture
def values() -> Callable[[TensorType], Any]:
    """Make an array of a static type: special values first, then random ones."""
    generator = np.random.default_rng(7)

    def make(type_: TensorType) -> Any:
        assert type_.shape is not None
        shape = tuple(d for d in type_.shape if isinstance(d, int))
        flat = np.concatenate([special(type_.dtype), _random(type_.dtype, generator)])
        picked = generator.choice(flat, size=math.prod(shape))
        return picked.reshape(shape).astype(to_numpy(type_.dtype))

    return make


def special(dtype: DType) -> Any:
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        limits = [dtype.minimum, dtype.maximum, 0, 1, 2, dtype.bits - 1, dtype.bits]
        return np.array(limits, to_numpy(dtype))
    found = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, -2.5, 1e-6]
    return np.array(found).astype(to_numpy(dtype))


def _random(dtype: DType, generator: Any) -> Any:
    if dtype.is_bool:
        return generator.random(20) > 0.5
    if dtype.is_integer:
        low = max(dtype.minimum, -100)
        return generator.integers(low, 100, size=20).astype(to_numpy(dtype))
    return (generator.standard_normal(20) * 4).astype(to_numpy(dtype))
