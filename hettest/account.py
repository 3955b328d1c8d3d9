"""What a finished run comes to: its report, what is wrong beside its items, and its exit code."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from hettest.ledger import INCOMPLETE, Ledger, undecided
from hettest.options import HetOptions
from hettest.outcome import Outcome, Record
from hettest.report.content import ReportContent

if TYPE_CHECKING:
    from hettest.levels.requiring import Requirement
    from hettest.levels.standing import Standing
    from hettest.outcome_lock import Lock
    from hettest.waivers import Waivers

_JUDGED: Final = frozenset({Outcome.PASSED, Outcome.FAILED, Outcome.WAIVED})
_NOTHING: Final = 5
"""Pytest's exit code where it found no tests."""


@final
@dataclass(frozen=True, kw_only=True)
class Account:
    """A run whose every item has ended."""

    options: HetOptions
    ledger: Ledger
    cases: Path | None
    """The folder of cases that are not the kit's own."""

    offered: int | None
    """How many conformance items there were to choose from; ``None`` for a part of the corpus."""

    left_out: Mapping[str, int]
    claims: Sequence[str]
    unopened: str
    """Why the backend did not open; empty if it did."""

    waivers: Waivers
    lock: Lock | None
    """The items that were to be run, and how each ended before, if a lock was named."""

    required: Sequence[Requirement]

    started: float
    """Seconds since the epoch."""

    unfinished: Sequence[str] = ()
    """Why there may have been more items than were counted."""

    crash: str | None = None
    """What of the backend crashed outside of all items."""

    def exit_code(self, own: int = 0) -> int:
        """Return the exit code that the outcomes give.

        Waivers that are not true make 1 of it, and so does a level that is required and missed. A
        run of conformance items of which none was decided is incomplete.

        Args:
            own: What the run would end with if nothing is wrong.
        """
        if self.problems or self.unmet:
            return 1
        found = self.ledger.exit_code(own)
        if self.undecided and found in (0, own):
            return INCOMPLETE
        return INCOMPLETE if found in (0, _NOTHING) and self.unfinished else found

    @cached_property
    def undecided(self) -> str:
        """Why a run of conformance items says nothing, or nothing of a device; empty if it does."""
        return undecided(self.ledger.in_order(), self.options.devices)

    @cached_property
    def unmet(self) -> tuple[str, ...]:
        """What was required of the run and is not so."""
        found = [r for r in self.ledger.in_order() if r.case is not None]
        if not found and not self.options.requires_items:
            return ()
        texts = [
            text
            for required in self.required
            for text in required.unmet(self._standings, self.options.devices)
        ]
        if self.required and any(map(self._is_in_process, found)):
            texts.append(
                f"{self.required[0].text} is required, and items were judged in the backend's own "
                "process, where it could change the judge: leave out --no-isolate"
            )
        return tuple(texts)

    @cached_property
    def _standings(self) -> tuple[Standing, ...]:
        """How the run stands in each profile, if items of the corpus were run."""
        records = self.ledger.in_order()
        if self.cases is not None or not any(record.level is not None for record in records):
            return ()
        from hettest.levels.judged import standings

        return standings(records, self.claims, self.options.devices, self.unopened)

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the waivers, if any item was run that they may be for."""
        records = [r for r in self.ledger.in_order() if r.case is not None]
        if not records or not self.waivers.entries:
            return ()
        from hettest.corpus import case_ids, corpus_root
        from hettest.waivers import problems

        folders = (corpus_root(), *([] if self.cases is None else [self.cases]))
        known = {case for folder in folders for case in case_ids(folder)}
        today = date.fromtimestamp(self.started)
        return tuple(problems(self.waivers, records, known, today))

    @cached_property
    def content(self) -> ReportContent:
        """What reports are made from."""
        records = self.ledger.in_order()
        expected = self._expected(records)
        crashed = [] if self.crash is None else [f"crashed: {self.crash}"]
        return ReportContent(
            backend=self.options.backend,
            devices=self.options.devices,
            policy=self.options.policy,
            counts=self.ledger.counts(),
            records=records,
            deselected=dict(self.left_out) | self.ledger.deselected,
            expected=None if expected is None else expected[1],
            expected_file=None if expected is None else expected[0].name,
            started=self.started,
            seconds=time.time() - self.started,
            problems=(*self.unfinished, *crashed, *self.problems),
            unmet=self.unmet,
            better=() if self.lock is None else tuple(self.lock.better(records)),
            unopened=self.unopened,
            in_process=sum(map(self._is_in_process, records)),
            **self._judged(records),
        )

    def _is_in_process(self, record: Record) -> bool:
        """Whether an item was judged in the backend's own process, as tests of one's own are."""
        apart = record.case is not None and self.options.isolated
        return record.outcome in _JUDGED and not apart

    def _expected(self, records: Sequence[Record]) -> tuple[Path, tuple[str, ...]] | None:
        """Return the list of items that are to be run, and its file, if there is one."""
        if self.lock is not None:
            return self.lock.path, self.lock.items
        found = sum(1 for record in records if record.level is not None)
        if not found or found != self.offered:
            return None
        from hettest.corpus import corpus_root, expected_items

        return expected_items(corpus_root(), self.options.devices)

    def _judged(self, records: Sequence[Record]) -> dict[str, Any]:
        """Return what a report says of levels and coverage, if items of the corpus were run."""
        if not self._standings:
            return {}
        from hettest.levels.judged import covered
        from hettest.report.provenance import suite

        return {
            "claims": self.claims,
            "standings": self._standings,
            "coverage": covered(records),
            "seed": self.options.seed,
            "suite": suite(),
        }
