"""The levels and the coverage of a run over this installation's corpus."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hettest.case.faults import fault_classes
from hettest.case.model import Case
from hettest.corpus import own_cases
from hettest.language import DTYPES, operators
from hettest.levels.coverage import Coverage, Published, coverage
from hettest.levels.plan import planned
from hettest.levels.profile import Profile, load, published
from hettest.levels.reached import Run, standing
from hettest.levels.standing import Standing
from hettest.outcome import Record


def standings(
    records: Sequence[Record],
    claims: Collection[str],
    devices: Sequence[str],
    unopened: str = "",
) -> tuple[Standing, ...]:
    """Return how a run of conformance items stands in each published profile.

    Args:
        records: How its items ended; those of one's own tests do not matter.
        claims: The capability words that the backend declares.
        devices: What was named; the first is the host.
        unopened: Why the backend did not open; empty if it did.
    """
    found = {r.id: r for r in records if r.case is not None}
    run = Run(found, claims, devices, unopened)
    return tuple(_standing(load(name), own_cases(), run) for name in published())


def _standing(profile: Profile, corpus: Sequence[Case], run: Run) -> Standing:
    return standing(profile, planned(profile, corpus, run.devices), run)


def covered(records: Sequence[Record]) -> Coverage:
    """Return what a run of conformance items covers of all that is published."""
    return coverage(records, _published(own_cases()))


def _published(corpus: Sequence[Case]) -> Published:
    return Published(
        clauses=tuple(sorted({clause for case in corpus for clause in case.clauses})),
        operators=tuple(operators()),
        dtypes=tuple(DTYPES),
        faults=tuple(name for name, kind in fault_classes().items() if kind.has_cases),
        fault_of=_faults(corpus),
    )


def _faults(corpus: Sequence[Case]) -> Mapping[str, str]:
    return {case.id: case.fault for case in corpus if case.fault is not None}
