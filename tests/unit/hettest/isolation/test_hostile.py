"""No backend reaches the judge: wrong values never pass, and nothing it sends fails the kit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hettest.case.expansion import Item
from hettest.errors import BackendCrash, UsageError
from hettest.isolation import Isolated
from hettest.limits import Limits
from hettest.outcome import Outcome, Record
from hettest.runner import run_item
from hettest.runner.asked import Asked
from hettest.runner.run import Environment
from tests.unit.hettest import lying
from tests.unit.hettest.isolation.test_isolated import DEVICES, items

LYING = "tests.unit.hettest.lying"
WELL = Limits(seconds=60, start=120)


def require_honest(record: Record) -> None:
    """Fail if a wrong value passed, or if the kit is said to be at fault."""
    assert record.outcome in (Outcome.FAILED, Outcome.CRASHED), record
    assert "please report it" not in record.reason + record.text
    assert record.stage != "kit"
    assert record.reason
    record.text.encode()
    assert Record.from_json(record.to_json()).outcome is record.outcome


def ends(backend: str, items: tuple[Item, ...]) -> list[Record] | str:
    """Return how the items end, or what is wrong with the backend as a whole."""
    tested = Isolated(Asked(f"{LYING}:{backend}", DEVICES), WELL)
    try:
        tested.facts.check(DEVICES)
        records = [tested.run(item) for item in items]
    except (UsageError, BackendCrash) as error:
        records = []
        wrong = str(error)
    try:
        tested.close()
    except BackendCrash as crash:
        wrong = str(crash)
    return records or wrong


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> tuple[Item, ...]:
    return items(tmp_path_factory.mktemp("cases"), "well")[:1]


def test_a_judge_that_is_patched_in_its_process_judges_nothing(one: tuple[Item, ...]) -> None:
    found = ends("Reaches:what=judge", one)

    assert not isinstance(found, str), found
    (record,) = found
    assert record.outcome is Outcome.FAILED
    assert record.reason.startswith("values: expected: result 0")
    require_honest(record)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_patched_no_wrong_value_passes(one: tuple[Item, ...], seed: int) -> None:
    found = ends(f"Reaches:what={seed}", one)

    if isinstance(found, str):
        assert found
    else:
        for record in found:
            require_honest(record)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Record, Record]]]:
    """Each thing that does not belong in an observation: how it ends here, and how apart."""
    folder = tmp_path_factory.mktemp("cases")
    all_ = items(folder, *(f"junk_{number}" for number in range(len(lying.CASES))))
    first = {item.case.id: item for item in reversed(all_)}
    here = Environment(lying.Junk(), "junk", DEVICES, {})
    tested = Isolated(Asked(f"{LYING}:Junk", DEVICES), Limits(batch=10_000))
    found = {}
    for number, case in enumerate(lying.CASES):
        item = first[f"area/junk_{number}"]
        found[case] = (run_item(item, here), tested.run(item))
    yield found
    tested.close()


@pytest.mark.parametrize("place", lying.places())
def test_what_does_not_belong_in_an_observation_is_the_backends_fault(
    shown: dict[str, tuple[Record, Record]], place: str
) -> None:
    for case in (case for case in lying.CASES if case.rpartition("/")[0] == place):
        for record in shown[case]:
            require_honest(record)


def test_an_item_ends_alike_in_either_process(shown: dict[str, tuple[Record, Record]]) -> None:
    other = {
        case: (here.reason, apart.reason)
        for case, (here, apart) in shown.items()
        if (here.outcome, here.stage, here.reason) != (apart.outcome, apart.stage, apart.reason)
    }

    assert other == {}


@pytest.mark.parametrize("call", lying.CALLS)
@pytest.mark.parametrize("end", lying.ENDS)
def test_whatever_a_call_raises_here_is_the_backends_fault(
    one: tuple[Item, ...], call: str, end: str
) -> None:
    try:
        backend = lying.Ends(call, end)
    except BaseException:
        return  # loading it says so
    record = run_item(one[0], Environment(backend, "ends", DEVICES, {}))

    require_honest(record)


@pytest.mark.parametrize("call", lying.CALLS)
@pytest.mark.parametrize("end", [*lying.DEATHS, "raises silently", "exits with an object"])
def test_whatever_a_call_does_to_its_process_is_told(
    one: tuple[Item, ...], call: str, end: str
) -> None:
    found = ends(f"Ends:call={call},end={end}", one)

    if isinstance(found, str):
        assert found.strip()
        assert "please report it" not in found
    else:
        for record in found:
            require_honest(record)
