"""What a backend claims to show, it shows."""

from __future__ import annotations

import numpy as np

from hettest.backend.protocol import Copy, Observation
from hettest.expect.claims import unkept


def test_bytes_that_are_claimed_must_be_shown() -> None:
    copies = [Copy("cpu:0", "sim:0", bytes=4), Copy("cpu:0", "sim:0")]
    seen = Observation(results=np.zeros(1), copies=copies)
    assert list(unkept(seen, frozenset({"observe:copies|bytes"}))) == [
        "the backend claims observe:bytes but shows a transfer without its bytes"
    ]


def test_bytes_that_are_not_claimed_may_be_left_out() -> None:
    seen = Observation(results=np.zeros(1), copies=[Copy("cpu:0", "sim:0")])
    assert not list(unkept(seen, frozenset({"observe:copies"})))
