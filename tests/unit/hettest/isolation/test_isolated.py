"""Whatever a backend does to its process ends one item, and the next one is unhurt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hettest.case.expansion import Item
from hettest.corpus import cases, select
from hettest.errors import BackendCrash, UsageError
from hettest.isolation import Isolated
from hettest.limits import Limits
from hettest.outcome import Outcome, Record
from hettest.runner.asked import Asked
from tests.unit.hettest.case.written import PROGRAM, text, write
from tests.unit.hettest.moody import MOODS

MOODY = "tests.unit.hettest.moody"
DEVICES = ("cpu:0", "sim:0")
CRASH = (
    "its process was killed by SIGSEGV during: compile for host=cpu:0, accel=sim:0, "
    "last noted: kernel add -> main/%s on cpu:0"
)
LIMITS = Limits(seconds=3, memory=300 << 20, start=60)


def items(folder: Path, *names: str) -> tuple[Item, ...]:
    for name in names:
        write(folder, text(f"{PROGRAM}// {name}\n"), f"area/{name}.toml")
    return select(cases(folder), DEVICES).items


def subject(backend: str, limits: Limits = LIMITS) -> Isolated:
    return Isolated(Asked(f"{MOODY}:{backend}", DEVICES), limits)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Record]]:
    """One item for each mood, and a well one after each, in the order of one run."""
    folder = tmp_path_factory.mktemp("cases")
    names = [name for mood in MOODS for name in (mood, f"{mood}_then_well")]
    tested = subject("Backend")
    yield {i.case.id.removeprefix("area/"): tested.run(i) for i in items(folder, *names)}
    tested.close()


@pytest.mark.parametrize(
    ("mood", "reason", "stage"),
    [
        ("crashes", CRASH, "crash"),
        ("leaves", "its process ended itself with exit code 0 during: compile for", "crash"),
        ("hangs", "no answer within 3 s during: compile for", "timeout"),
        ("fills", "its process held ", "crash"),
        ("scribbles", "its process wrote into the kit's own pipe", "crash"),
        ("halves", "no answer within 3 s during: compile for", "timeout"),
        ("answers_in_advance", "its process wrote into the kit's own pipe", "crash"),
        ("cuts_off", "its process was killed by SIGKILL", "crash"),
        ("inflates", "its process ended itself with exit code 5", "crash"),
        ("interrupts", "raised KeyboardInterrupt", "crash"),
    ],
)
def test_an_item_that_hurts_its_process_crashes_by_name(
    ended: dict[str, Record], mood: str, reason: str, stage: str
) -> None:
    record = ended[mood]

    assert record.outcome is Outcome.CRASHED
    assert record.reason.startswith(reason)
    assert record.stage == stage
    assert f"  crashed: {reason}" in record.text
    assert f"run it again: hettest run 'area/{mood}" in record.text


@pytest.mark.parametrize("mood", MOODS)
def test_the_next_item_is_unhurt(ended: dict[str, Record], mood: str) -> None:
    assert ended[f"{mood}_then_well"].outcome is Outcome.PASSED, ended[f"{mood}_then_well"].text


def test_a_memory_overrun_says_how_much(ended: dict[str, Record]) -> None:
    assert re.match(
        r"its process held [\d.]+ [MG]iB, more than 300 MiB, during: compile for",
        ended["fills"].reason,
    )


def test_what_was_printed_last_is_shown(ended: dict[str, Record]) -> None:
    assert ended["leaves"].text.endswith("  printed:\n    good bye")


def test_a_crash_shows_where_python_was(ended: dict[str, Record]) -> None:
    assert "Fatal Python error: Segmentation fault" in ended["crashes"].text
    assert "in _crash" in ended["crashes"].text


def test_a_hang_shows_where_python_was(ended: dict[str, Record]) -> None:
    text = ended["hangs"].text

    assert "in _hang" in text.partition("  stacks:\n")[2]
    assert "  printed:" not in text


def test_garbage_is_shown_and_not_parsed(ended: dict[str, Record]) -> None:
    record = ended["chats"]

    assert record.outcome is Outcome.PASSED
    assert '{"record": {"outcome": "passed"}}' in record.text
    assert "\N{REPLACEMENT CHARACTER}\0 not a text" in record.text
    assert ended["chats_then_well"].text == ""


def test_a_copy_of_the_process_answers_nothing(ended: dict[str, Record]) -> None:
    assert ended["forks"].outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("DiesInDevices", r"exit code 7 during: load the backend.*\n  printed:\n    looking for"),
        ("DiesWhenMade", r"exit code 3 during: load the backend.*\n  printed:\n    no licence"),
        ("HangsInDevices", r"no answer within 6 s during: load the backend and ask for its dev"),
    ],
)
def test_a_backend_that_cannot_be_asked_is_asked_once(
    tmp_path: Path, backend: str, message: str
) -> None:
    tested = subject(backend, Limits(start=6))

    for _ in range(2):
        with pytest.raises(BackendCrash, match=message):
            tested.facts  # noqa: B018 - asks
    tested.close()


def test_one_that_cannot_be_imported_is_wrong_usage() -> None:
    tested = Isolated(Asked("no.such.module:Backend", DEVICES))

    with pytest.raises(UsageError, match="cannot be loaded: No module named 'no'"):
        tested.facts  # noqa: B018 - asks
    tested.close()


def test_a_death_at_the_end_is_told(tmp_path: Path) -> None:
    tested = subject("DiesInClose")
    (item,) = items(tmp_path, "well")

    assert tested.run(item).outcome is Outcome.PASSED
    with pytest.raises(BackendCrash, match="killed by SIGABRT during: close the backend"):
        tested.close()


def test_a_process_serves_one_batch(tmp_path: Path) -> None:
    tested = subject("OneByOne", Limits(batch=2))

    ended = [tested.run(item) for item in items(tmp_path, *"abc")]
    tested.close()

    first, second, third = (record.text.rpartition(" ")[2] for record in ended)
    assert first == second != third


def test_facts_are_those_of_the_backend_itself() -> None:
    tested = subject("Backend")

    assert tested.facts.name == "fake"
    assert "observe:copies" in tested.facts.capabilities
    assert tested.unavailable == {}
    assert tested.facts.unavailable(("cuda:0",)) == {
        "cuda:0": "no driver: libfake.so.1 was not found"
    }
    tested.close()
