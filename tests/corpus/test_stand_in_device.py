"""Without an accelerator, a second device of the CPU stands in for it: the suite still has teeth.

Every item of explicit placement and of planning runs on ``cpu:0`` and ``cpu:1``, which have
memories of their own, as on two kinds of device; only what needs a third device is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hettest.backend.discovery import load
from hettest.case.expansion import Item, roles_of
from hettest.case.model import Case
from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Outcome, Record, Status
from hettest.runner import run_item
from hettest.runner.run import Environment

CPUS = ("cpu:0", "cpu:1")
PAIR = ("cpu:0", "sim:0")
LEVELS = (3, 4)


@pytest.fixture(scope="module")
def corpus() -> tuple[Case, ...]:
    return tuple(case for case in cases(corpus_root()) if case.level in LEVELS)


@pytest.fixture(scope="module")
def ended(corpus: tuple[Case, ...]) -> Sequence[tuple[Item, Record]]:
    environment = Environment(load("reference_vm"), "reference_vm", CPUS, {})
    return [(item, run_item(item, environment)) for item in select(corpus, CPUS).items]


def test_the_same_cases_are_selected_as_with_an_accelerator(corpus: tuple[Case, ...]) -> None:
    def selected(devices: tuple[str, ...]) -> set[str]:
        return {
            item.case.id for item in select(corpus, devices).items if roles_of(item.case.program)
        }

    assert selected(CPUS) == selected(PAIR)


def test_every_item_ends_as_it_does_with_an_accelerator(
    ended: Sequence[tuple[Item, Record]],
) -> None:
    wrong = [
        record.text or record.reason
        for _, record in ended
        if record.outcome not in (Outcome.PASSED, Outcome.UNSUPPORTED)
    ]
    assert len(ended) >= 200
    assert not wrong, "\n\n".join(wrong[:5])
    constructs = [r.lacks for _, r in ended if r.outcome is Outcome.UNSUPPORTED]
    assert all(word.startswith("construct:") for lacks in constructs for word in lacks)


def test_placement_and_copies_are_proven_on_the_stand_in(
    ended: Sequence[tuple[Item, Record]],
) -> None:
    proven = {
        clause.name
        for item, record in ended
        if "cpu:1" in item.binding.values()
        for clause in record.clauses
        if clause.status is Status.PROVEN
    }
    used = {d for _, r in ended if r.seen for on in r.seen.placement.values() for d in on}

    assert proven >= {"values", "placement", "copies", "moved", "arrivals"}
    assert used == set(CPUS)
