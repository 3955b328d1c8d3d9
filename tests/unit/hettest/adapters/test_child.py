"""An engine's process: answers, refusals, faults, deaths and silence."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from hettest.adapters.child import AdapterFault, Child, EngineDied, engine_errors
from hettest.backend.protocol import Rejected


class Moody:
    """An engine that does as it is told."""

    def __init__(self) -> None:
        self.asked = 0

    def count(self) -> int:
        self.asked += 1
        return self.asked

    def refuse(self) -> None:
        with engine_errors("compile"):
            raise ValueError("no such operator")

    def stumble(self) -> None:
        raise KeyError("abs")

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def sleep(self) -> None:
        time.sleep(60)


@pytest.fixture
def child() -> Iterator[Child]:
    opened = Child(f"{__name__}:Moody", patience=20)
    yield opened
    opened.close()


def test_the_engine_lives_from_one_question_to_the_next(child: Child) -> None:
    assert [child.ask("count"), child.ask("count")] == [1, 2]


def test_the_engines_own_error_is_a_rejection_and_the_process_lives(child: Child) -> None:
    child.ask("count")

    with pytest.raises(Rejected, match="no such operator") as caught:
        child.ask("refuse")

    assert (caught.value.stage, caught.value.code) == ("compile", "ValueError")
    assert child.ask("count") == 2


def test_an_error_of_the_adapter_is_no_rejection(child: Child) -> None:
    with pytest.raises(AdapterFault, match="KeyError: 'abs'"):
        child.ask("stumble")


def test_a_death_names_the_signal_and_the_next_question_finds_a_new_process(child: Child) -> None:
    child.ask("count")

    with pytest.raises(EngineDied, match="killed by SIGSEGV"):
        child.ask("die")

    assert child.ask("count") == 1


def test_an_engine_that_does_not_answer_is_ended(child: Child) -> None:
    child.ask("count")
    child.patience = 0.2

    with pytest.raises(EngineDied, match=r"did not answer within 0\.2 s"):
        child.ask("sleep")

    child.patience = 20
    assert child.ask("count") == 1
