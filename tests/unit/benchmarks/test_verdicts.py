"""What the script on verdicts counts, on series made here."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import verdicts
from benchmarks.timing_series import DATA, MODELS, recorded, simulated
from hettest.bench.statistics import Verdict


@pytest.mark.parametrize("model", MODELS)
def test_a_simulated_pair_is_the_same_for_the_same_seed(model: str) -> None:
    one, other = simulated(model, 5, 30)
    again, _ = simulated(model, 5, 30)

    assert one.shape == other.shape == (30,)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, simulated(model, 6, 30)[0])
    assert np.all(one > 0)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.json")), ids=lambda path: str(path.stem))
def test_a_recording_gives_a_hundred_pairs(path: object) -> None:
    assert isinstance(path, type(DATA))
    pairs = list(recorded(path))

    assert len(pairs) == verdicts.SAME
    assert all(one.shape == other.shape and one.min() > 0 for one, other in pairs)


def test_a_false_alarm_is_each_verdict_that_calls_equal_sides_unequal() -> None:
    assert verdicts.alarms(Verdict) == 2


def test_a_kind_of_series_on_which_one_side_is_slower_breaks_the_promise() -> None:
    pair = simulated("drift", 1, 30)

    assert verdicts.judged("equal", [pair] * verdicts.SAME)
    assert not verdicts.judged("unequal", [(pair[0], pair[1] * 1.3)] * verdicts.SAME)
    assert not verdicts.judged("few", [pair] * verdicts.SLOWED)
