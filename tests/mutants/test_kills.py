"""Every mutant dies, by the items that are named for it and by the check of its own kind."""

from __future__ import annotations

import re

import pytest

from hettest.case.faults import fault_classes
from hettest.outcome import Outcome, Status
from reference_vm.conformance import Backend as Reference
from tests.mutants import matrix
from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import Kill, Mutant
from tests.mutants.page import PAGE, rendered
from tests.mutants.running import ended

KILLS = [(mutant, kill) for mutant in MUTANTS for kill in mutant.kills]
IDS = [f"{mutant.name}-{kill.item}" for mutant, kill in KILLS]

VALUES_ARE_RIGHT = (
    *("wrong-device", "ignores-hints", "falls-back-to-host", "copies-twice", "drops-a-copy"),
    *("ignores-replicate", "falls-back-and-reports-the-request", "hides-a-copy"),
)


@pytest.mark.parametrize(("mutant", "kill"), KILLS, ids=IDS)
def test_the_named_item_fails_by_the_named_checks_alone(mutant: Mutant, kill: Kill) -> None:
    record = ended(mutant.backend(), kill.item)
    assert record.outcome is Outcome.FAILED, record.text or record.reason
    failed = {c.name for c in record.clauses if c.status is Status.FAILED}
    assert failed == kill.by, record.text
    proven = {c.name for c in record.clauses if c.status is Status.PROVEN}
    assert "values" in failed | proven or failed == {"diagnostics"}, record.text
    if "backend" not in failed:
        assert failed | proven == {c.name for c in record.clauses}, record.text


@pytest.mark.parametrize("item", sorted({kill.item for _, kill in KILLS}))
def test_the_unbroken_reference_passes_the_item(item: str) -> None:
    record = ended(Reference(), item)
    assert record.outcome is Outcome.PASSED, record.text


@pytest.mark.parametrize("name", VALUES_ARE_RIGHT)
def test_a_mutant_with_right_values_dies_by_placement_or_copies(name: str) -> None:
    (mutant,) = (m for m in MUTANTS if m.name == name)
    for kill in mutant.kills:
        assert "values" not in kill.by
        assert kill.by & {"placement", "copies"}


def test_names_are_unique_and_every_mutant_has_a_kill() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)
    assert all(mutant.kills for mutant in MUTANTS)


def test_every_kind_of_fault_that_can_be_has_a_mutant() -> None:
    named = {mutant.fault_class for mutant in MUTANTS} - {""}

    assert named == {kind.id for kind in fault_classes().values() if kind.has_cases}


def test_the_page_lists_every_kill() -> None:
    assert PAGE.read_text(encoding="utf-8") == rendered(), "run: python -m tests.mutants.page"


def test_the_matrix_counts_the_kills_of_every_mutant() -> None:
    text = matrix.PAGE.read_text(encoding="utf-8")
    _, by_clause, by_area = text.split("\n## ")
    names = [mutant.name for mutant in MUTANTS]

    for part in (by_clause, by_area):
        assert re.findall(r"^\| `([a-z0-9-]+)` \| [1-9]", part, re.MULTILINE) == names
