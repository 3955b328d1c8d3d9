"""Right runs are judged right where operators meet the ends of their domains, and wrong ones not.

There a right run may give a number, an infinity or NaN, by how what comes before was rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.ops.catalog import OPS
from tests.property.edge_programs import program
from tests.property.judged_runs import broken, failures


@settings(max_examples=20)
@given(st.integers(0, 1_000_000))
def test_every_right_run_is_judged_right(seed: int) -> None:
    written = program(seed)
    found = failures(written)
    assert not found, f"seed {seed}:\n{written.text}\n" + "\n".join(found)


EDGED = ("sqrt", "log", "reciprocal", "asin", "acos", "floor", "round", "sign", "remainder", "clip")


def _changed(name: str, change: Callable[[Any], Any]) -> Callable[..., Any]:
    def compute(xp: Any, *operands: Any, **attrs: Any) -> Any:
        made = np.array(OPS[name].compute(xp, *operands, **attrs))
        whole = np.flatnonzero(np.isfinite(made.ravel()))
        if whole.size:
            place = whole[int(np.argmax(np.abs(made.ravel()[whole])))]
            made.ravel()[place] = change(made.ravel()[place])
        return made

    return compute


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a NaN": lambda v: np.nan,
    "one more": lambda v: v + 1,
    "a part in 4096": lambda v: v * (1 + 2.0**-12) + 2.0**-12,
    "infinity": lambda v: np.inf,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", EDGED)
def test_a_broken_operator_is_judged_wrong(name: str, change: str) -> None:
    for seed in range(400):
        written = program(seed)
        if not any(f"= {name}(" in line for line in written.body):
            continue
        verdict = broken(written, {name: _changed(name, CHANGES[change])})
        assert not verdict.holds, (seed, [f"{c.name} {c.status}" for c in verdict.checks])
        return
    pytest.fail(f"no program has {name}")
