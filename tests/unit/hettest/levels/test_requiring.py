"""What is required of a run is met by what was reached, on the devices where it was seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hettest.levels.requiring import Requirement
from hettest.levels.standing import Standing
from hettest.outcome import Clause, Evidence, Outcome, Record, Seen, Status, Transfer
from tests.unit.hettest.levels.small import PAIR, WORDS, ids, judged, record

VALUES = Clause("values", Status.PROVEN, "")


def shown(one: str, *devices: str) -> Record:
    """Return the record of an item that passed, with an operator on each of ``devices``."""
    seen = Seen({f"main/%{i}": (d,) for i, d in enumerate(devices)}, ())
    return record(one, clauses=(VALUES,), seen=seen)


def unmet(standing: Standing, step: str, *devices: str) -> list[str]:
    required = Requirement(f"small@1:{step}", "small@1", step, devices)
    return list(required.unmet([standing], PAIR))


def everything(folder: Path, *devices: str) -> list[Record]:
    return [shown(one, *devices) for one in ids(folder)]


def test_a_level_is_met_on_the_devices_where_something_ran(tmp_path: Path) -> None:
    found = judged(tmp_path, everything(tmp_path, *PAIR))

    assert [rung.devices for rung in found.rungs] == [(), PAIR, PAIR]
    assert unmet(found, "L2") == unmet(found, "L3") == unmet(found, "L3", "sim:0") == []


def test_what_ran_on_the_host_alone_is_no_level_of_the_accelerator(tmp_path: Path) -> None:
    found = judged(tmp_path, everything(tmp_path, "cpu:0"))

    assert found.level == 3
    assert found.rungs[1].devices == ("cpu:0",)
    (told,) = unmet(found, "L2")
    assert "L2 is reached on cpu:0, and nothing was seen to run on sim:0" in told
    assert unmet(found, "L2", "cpu:0") == []


def test_a_transfer_to_a_device_is_no_computation_there(tmp_path: Path) -> None:
    moved = Seen({"main/%s": ("cpu:0",)}, (Transfer("main/%s", "cpu:0", "sim:0"),))
    records = [replace(r, seen=moved) for r in everything(tmp_path, "cpu:0")]

    assert unmet(judged(tmp_path, records), "L2", "sim:0")


def test_what_shows_nothing_ran_nowhere_that_is_known(tmp_path: Path) -> None:
    records = [record(one, clauses=(VALUES,)) for one in ids(tmp_path)]

    found = judged(tmp_path, records)

    assert found.rungs[1].devices == ()
    assert "reached on no device" in unmet(found, "L2")[0]


def test_doubling_shows_where_something_ran(tmp_path: Path) -> None:
    caused = Clause("placement", Status.PROVEN, "", evidence=Evidence.CAUSED)
    records = [record(one, clauses=(VALUES, caused)) for one in ids(tmp_path)]

    assert unmet(judged(tmp_path, records), "L3") == []


def test_the_host_alone_needs_no_evidence(tmp_path: Path) -> None:
    one = ("cpu:0",)
    records = [record(i, clauses=(VALUES,), devices=one) for i in ids(tmp_path, one)]

    assert judged(tmp_path, records, devices=one).rungs[1].devices == one


def test_the_item_in_the_way_is_named_with_what_to_read(tmp_path: Path) -> None:
    wrong = Clause("values", Status.FAILED, "wrong")
    records = everything(tmp_path, *PAIR)
    records[0] = replace(
        records[0], outcome=Outcome.FAILED, reason="values: wrong", clauses=(wrong,)
    )

    (told,) = unmet(judged(tmp_path, records), "L2")

    assert told.startswith(f"small@1:L2 is required: L2 is not reached: {records[0].id} failed: ")
    assert "hettest explain " in told


@pytest.mark.parametrize("word", ["op:add", "observe:placement"])
def test_a_word_that_is_not_declared_any_more_is_named(tmp_path: Path, word: str) -> None:
    found = judged(tmp_path, everything(tmp_path, *PAIR), claims=WORDS - {word})
    told = " ".join((*unmet(found, "L2"), *unmet(found, "L3")))
    assert f"not declared: {word}" in told


def test_a_profile_of_which_nothing_was_run_is_missed() -> None:
    required = Requirement("core@1:L2", "core@1", "L2")

    assert list(required.unmet([], PAIR)) == [
        "core@1:L2 is required: no item of core@1 was run",
    ]
