"""Right runs of quantized programs are judged right, and a fault of one quantum is seen.

A rounding to integers may come out either way where errors of its operand reach a tie; everywhere
else the integers of every right run are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.ops.catalog import OPS
from tests.property.judged_runs import Written, broken, failures
from tests.property.quantized_programs import program

SEEDS = st.integers(0, 1_000_000)


@settings(max_examples=12)
@given(SEEDS)
def test_every_right_run_is_judged_right(seed: int) -> None:
    found = failures(program(seed))
    assert not found, f"seed {seed}:\n" + "\n".join(found)


def _off_by_one(values: Any, clear: Any) -> Any:
    """Return integers with one quantum more or less at the place that is furthest from a tie."""
    place = np.unravel_index(int(np.argmax(clear)), values.shape)
    changed = values.copy()
    value = int(changed[place])
    changed[place] = value + 1 if value < np.iinfo(values.dtype).max else value - 1
    return changed


def _clear(ratio: Any) -> Any:
    return 0.5 - np.abs(ratio - np.rint(ratio))


def _quantize(xp: Any, x: Any, scale: Any, zero: Any = None, **attrs: Any) -> Any:
    made = OPS["quantize_linear"].compute(xp, x, scale, zero, **attrs)
    return _off_by_one(made, np.ones(made.shape) if scale.size > 1 else _clear(x / scale))


def _quantize_dynamically(xp: Any, x: Any) -> Any:
    values, scale, zero = OPS["dynamic_quantize_linear"].compute(xp, x)
    return _off_by_one(values, _clear(x / scale)), scale, zero


def _other_zero_point(xp: Any, x: Any) -> Any:
    values, scale, zero = OPS["dynamic_quantize_linear"].compute(xp, x)
    return values, scale, np.asarray((int(zero) + 2) % 256, zero.dtype)


def _other_scale(xp: Any, x: Any) -> Any:
    values, scale, zero = OPS["dynamic_quantize_linear"].compute(xp, x)
    return values, np.asarray(scale * np.float32(1 + 2.0**-12)), zero


def _multiply(xp: Any, *operands: Any) -> Any:
    made = OPS["matmul_integer"].compute(xp, *operands).copy()
    made.ravel()[0] += 1
    return made


def _changed(name: str, change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return an operator whose largest element is another one."""

    def compute(xp: Any, *operands: Any, **attrs: Any) -> Any:
        made = OPS[name].compute(xp, *operands, **attrs).copy()
        if made.dtype.kind == "f" and made.size:
            place = np.unravel_index(int(np.argmax(np.abs(made))), made.shape)
            made[place] = change(made[place])
        return made

    return compute


FAULTS: dict[str, dict[str, Callable[..., Any]]] = {
    "one quantum": {"quantize_linear": _quantize, "dynamic_quantize_linear": _quantize_dynamically},
    "another zero point": {"dynamic_quantize_linear": _other_zero_point},
    "another scale": {"dynamic_quantize_linear": _other_scale},
    "one more in a product": {"matmul_integer": _multiply},
    "a sign": {"dequantize_linear": _changed("dequantize_linear", lambda v: -v)},
    "a scale by 2^-12": {
        "dequantize_linear": _changed("dequantize_linear", lambda v: v * (1 + 2.0**-12))
    },
    "a NaN": {"cast": _changed("cast", lambda v: np.nan)},
}


def _has(written: Written, names: dict[str, Any]) -> bool:
    return any(f"= {name}(" in line for line in written.body for name in names)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_run_is_judged_wrong(fault: str) -> None:
    tried = 0
    for seed in range(40):
        written = program(seed)
        if not _has(written, FAULTS[fault]) or tried == 4:
            continue
        verdict = broken(written, FAULTS[fault])
        assert not verdict.holds, (seed, [f"{c.name} {c.status}" for c in verdict.checks])
        tried += 1
    assert tried == 4
