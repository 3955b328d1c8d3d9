"""Every mutant dies, by the items that are named for it and by the check of its own kind."""

from __future__ import annotations

from functools import lru_cache

import pytest

from hettest.backend.protocol import Backend
from hettest.case.expansion import Item
from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Outcome, Record, Status
from hettest.runner.cases import CaseData
from hettest.runner.run import Environment, run_item
from reference_vm.conformance import Backend as Reference
from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import PAIR, Kill, Mutant

KILLS = [(mutant, kill) for mutant in MUTANTS for kill in mutant.kills]
IDS = [f"{mutant.name}-{kill.item}" for mutant, kill in KILLS]


@lru_cache(maxsize=1)
def items() -> dict[str, Item]:
    return {item.id: item for item in select(cases(corpus_root()), PAIR).items}


@lru_cache(maxsize=1)
def _data() -> CaseData:
    return CaseData()


def ended(backend: Backend, item: str) -> Record:
    environment = Environment(backend, backend.name, PAIR, {}, data=_data())
    return run_item(items()[item], environment)


@pytest.mark.parametrize(("mutant", "kill"), KILLS, ids=IDS)
def test_the_named_item_fails_by_the_named_checks_alone(mutant: Mutant, kill: Kill) -> None:
    record = ended(mutant.backend(), kill.item)
    assert record.outcome is Outcome.FAILED, record.text or record.reason
    failed = {c.name for c in record.clauses if c.status is Status.FAILED}
    assert failed == kill.by, record.text
    assert all(c.status is not Status.UNPROVEN for c in record.clauses), record.text


@pytest.mark.parametrize("item", sorted({kill.item for _, kill in KILLS}))
def test_the_unbroken_reference_passes_the_item(item: str) -> None:
    record = ended(Reference(), item)
    assert record.outcome is Outcome.PASSED, record.text


def test_names_are_unique_and_every_mutant_has_a_kill() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)
    assert all(mutant.kills for mutant in MUTANTS)
