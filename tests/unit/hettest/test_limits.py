"""Sizes are shown with digits enough."""

from __future__ import annotations

import pytest

from hettest.errors import UsageError
from hettest.limits import parse_count, show_excess
from hettest.options import limits

GIB = 1 << 30


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (2 * GIB + GIB // 100, "2.01 GiB"),
        (2 * GIB + 4096, "2.000004 GiB"),
        (5 * GIB, "5 GiB"),
    ],
)
def test_an_excess_is_told_from_what_is_allowed(size: int, shown: str) -> None:
    assert show_excess(size, 2 * GIB) == shown


def test_loading_has_the_time_limit_that_was_given() -> None:
    assert limits("7", None, None).start == 7
    assert limits(None, None, None).start == 120


@pytest.mark.parametrize("text", ["-1", "1.5", "", "\u0663", "9" * 5000])
def test_a_count_is_one_that_can_be_counted_to(text: str) -> None:
    with pytest.raises(UsageError, match=r"--seed=.*: expected a number"):
        parse_count("--seed", text)
