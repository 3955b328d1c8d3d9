"""The peak that a trace tells is the one that the device counted."""

from __future__ import annotations

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.runtime.peaks import Peak, peaks
from tests.unit.program.programs import EXAMPLES


@pytest.mark.parametrize("interpreter", [False, True], ids=["native", "interpreter"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_what_was_in_use_before_and_the_peak_of_the_run_are_the_peak(
    name: str, interpreter: bool
) -> None:
    example = EXAMPLES[name]
    session = rv.Session(example.program(), interpreter=interpreter)
    for _ in range(2):
        before = {d: m.current for d, m in session.memory().items()}
        session.run("main", *example.args)

        found, counted = peaks(session.trace), session.memory()
        for device, memory in counted.items():
            planned = found[device].planned if device in found else 0
            assert before[device] + planned == memory.peak, device


def test_bytes_are_those_that_are_asked_for_and_ratios_of_aligned_ones() -> None:
    text = "module { fn @main(%x: f32[3]) -> f32[3] { %y = exp(%x) return %y } }"
    session = rv.Session(rv.compile(rv.parse(text)))
    session.run("main", np.ones(3, np.float32))

    assert peaks(session.trace)["cpu:0"] == Peak(12, 12, (64, 64))
    assert Peak(68, 8, (128, 128)).ratio == 1
    assert Peak(0, 0).ratio == 1
    assert Peak(0, 0) + Peak(68, 8, (128, 128)) + Peak(4, 4, (64, 64)) == Peak(72, 12, (192, 192))
