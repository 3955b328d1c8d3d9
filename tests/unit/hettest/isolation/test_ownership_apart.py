"""What a backend does to memory that is not its own is found out apart as it is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from hettest.case.expansion import Item
from hettest.corpus import cases, select
from hettest.isolation import Isolated
from hettest.outcome import Outcome, Record
from hettest.runner import run_item
from hettest.runner.asked import Asked
from hettest.runner.run import Environment
from tests.unit.hettest import possessive
from tests.unit.hettest.case.written import PROGRAM, text, write
from tests.unit.hettest.isolation.test_isolated import DEVICES
from tests.unit.hettest.test_run_after import CASE

MODULE = "tests.unit.hettest.possessive"
ONE = 'result = { dtype = "f32", shape = [1], data = [-1.0] }'
TWICE = CASE.replace("END", ONE).replace("AFTER", "one")


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Item:
    folder = tmp_path_factory.mktemp("placed")
    judged = text(PROGRAM).replace(
        'result = { dtype = "f32", shape = [4], data = [1, -4, -11, -20] }', 'result = "oracle"'
    )
    write(folder, judged, "area/placed.toml")
    return select(cases(folder), DEVICES).items[0]


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Item:
    folder = tmp_path_factory.mktemp("twice")
    write(folder, TWICE, "area/twice.toml")
    (item,) = (i for i in select(cases(folder), DEVICES[:1]).items if "two" in i.id)
    return item


def ended(name: str, item: Item) -> tuple[Record, Record]:
    """Return how the item ends here, and apart."""
    devices = tuple(dict.fromkeys(item.devices))
    here = Environment(getattr(possessive, name)(), "here", devices, {})
    tested = Isolated(Asked(f"{MODULE}:{name}", devices))
    try:
        return run_item(item, here), tested.run(item)
    finally:
        tested.close()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("WritesToArguments", "%a was written to"),
        ("WritesToEarlierArguments", "%b was written to"),
        ("ReshapesArguments", "%a was written to"),
        ("RetypesArguments", "%a was written to"),
        ("ReturnsArguments", "%a was written to\nresult 0 lies in the memory of %a"),
        ("ReturnsPartOfArguments", "%a was written to\nresult 0 lies in the memory of %a"),
    ],
)
def test_arguments_stay_the_callers(placed: Item, name: str, told: str) -> None:
    for record in ended(name, placed):
        found = [c.detail for c in record.clauses if c.name == "arguments"]
        assert record.outcome is Outcome.FAILED
        assert found == [told]


@pytest.mark.parametrize("name", ["WritesToEarlierResults", "ReusesResults"])
def test_results_of_the_run_before_stay_the_callers(twice: Item, name: str) -> None:
    for record in ended(name, twice):
        assert record.outcome is Outcome.FAILED
        assert record.reason == "arguments: result 0 of the run before was written to"


def test_who_takes_nothing_passes(placed: Item, twice: Item, tmp_path: Path) -> None:
    for item in (placed, twice):
        for record in ended("Possessive", item):
            assert record.outcome is Outcome.PASSED, record.text
