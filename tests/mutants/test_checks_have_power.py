"""No check is idle: without it, a mutant that nothing else sees would live."""

from __future__ import annotations

import pytest

from hettest.expect import evidence
from hettest.expect.catalog import CHECKS, Check
from hettest.outcome import Outcome
from hettest.runner import run
from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.power import ALONE, Removal
from tests.mutants.running import ended


def _clause(check: Check) -> str:
    """Return the name of a check's clause, which is that of its module."""
    return check.__module__.rpartition(".")[2]


def _lives(mutant: Mutant) -> bool:
    backend = mutant.backend()
    return all(ended(backend, kill.item).outcome is Outcome.PASSED for kill in mutant.kills)


@pytest.mark.parametrize("check", CHECKS, ids=_clause)
def test_without_the_check_a_mutant_lives(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = frozenset({_clause(check)})
    only_seen_here = [m for m in MUTANTS if all(kill.by == alone for kill in m.kills)]
    monkeypatch.setattr(run, "CHECKS", tuple(c for c in CHECKS if c is not check))
    living = [m.name for m in only_seen_here if _lives(m)]
    assert living == [m.name for m in only_seen_here]
    assert living, f"no mutant is seen by {_clause(check)} alone"


@pytest.mark.parametrize("removal", ALONE, ids=lambda removal: removal.name)
def test_without_one_part_of_a_check_a_mutant_lives(removal: Removal) -> None:
    (mutant,) = (m for m in MUTANTS if m.name == removal.lives)
    assert not _lives(mutant)

    with removal.in_force():
        assert _lives(mutant)


def test_every_part_of_the_evidence_is_among_them() -> None:
    assert tuple(part for part in evidence.PARTS if _is_removed(part)) == evidence.PARTS


def _is_removed(part: evidence.Part) -> bool:
    left = (r.without.value for r in ALONE if r.without.owner is evidence)
    return any(part not in parts for parts in left)
