"""Both executors do the same: results to the bit, records, memory, errors."""

from __future__ import annotations

import pytest

from tests.unit.native.both import Both
from tests.unit.native.programs import SAMPLES


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("name", SAMPLES)
def test_programs_run_alike(name: str, checked: bool) -> None:
    sample = SAMPLES[name]
    both = Both(sample.compiled(), checked=checked)
    for args in (*sample.calls, *sample.calls):
        both.check("main", *args)
