"""A backend that leaves its process in disorder costs no item, no wait and no process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hettest.case.expansion import Item
from hettest.errors import UsageError
from hettest.isolation import Isolated
from hettest.limits import Limits
from hettest.outcome import Outcome, Record
from hettest.runner.asked import Asked
from tests.unit.hettest.isolation.test_isolated import DEVICES, items

RUDE = "tests.unit.hettest.rude"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Item:
    return items(tmp_path_factory.mktemp("cases"), "well")[0]


def ended(backend: str, item: Item, seconds: float = 60) -> Record:
    tested = Isolated(Asked(f"{RUDE}:{backend}", DEVICES), Limits(seconds=seconds))
    try:
        return tested.run(item)
    finally:
        tested.close()


def is_alive(process: int) -> bool:
    """Whether a process still runs; one that has ended may wait for its parent to notice."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("backend", ["ClosesOutput", "TakesOutputAway"])
def test_output_that_is_gone_is_no_crash(one: Item, backend: str) -> None:
    record = ended(backend, one)

    assert record.outcome is Outcome.PASSED, record.text


def test_arrays_that_only_say_how_large_they_are_fail_by_their_size(one: Item) -> None:
    record = ended("ReturnsTerabytes", one)

    assert record.outcome is Outcome.FAILED
    told = "run() returned an observation whose arrays take 4096 GiB, at most 1 GiB can be sent"
    assert told in record.reason


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux names processes so")
@pytest.mark.parametrize(
    ("backend", "outcome"),
    [("StartsADaemon", Outcome.PASSED), ("HangsBesideADaemon", Outcome.CRASHED)],
)
def test_what_left_its_session_ends_with_the_process(
    one: Item, tmp_path: Path, backend: str, outcome: Outcome
) -> None:
    told = tmp_path / "daemon"

    record = ended(f"{backend}:daemon={told}", one, seconds=2)

    daemon = int(told.read_text())
    end = time.monotonic() + 10
    while is_alive(daemon) and time.monotonic() < end:
        time.sleep(0.01)
    assert record.outcome is outcome, record.text
    assert not is_alive(daemon)


def test_more_words_than_can_be_looked_through_are_refused() -> None:
    tested = Isolated(Asked(f"{RUDE}:ClaimsTooMuch", DEVICES))

    with pytest.raises(UsageError, match=r"200000 words of .* characters in all, expected at most"):
        assert tested.facts
