"""One run of the kit: what was asked for, the backend, and how every item ended."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import pytest

from hettest.devicemap import Binding
from hettest.errors import BackendCrash
from hettest.ledger import Ledger
from hettest.options import HetOptions, require_lock
from hettest.outcome import Outcome, Record
from hettest.termination import Terminated, terminations

if TYPE_CHECKING:
    from hettest.account import Account
    from hettest.backend.protocol import Backend
    from hettest.case.expansion import Item
    from hettest.corpus import Selection
    from hettest.levels.requiring import Requirement
    from hettest.locks import DeviceLocks
    from hettest.outcome_lock import Lock
    from hettest.report import ReportContent
    from hettest.runner.het import Het
    from hettest.runner.subject import Subject
    from hettest.tested import Tested
    from hettest.waivers import Waivers


KEY: Final = pytest.StashKey["KitSession"]()
"""Where the plugin keeps the session in pytest's configuration."""

ENDED: Final = pytest.StashKey["Record | None"]()
"""On a pytest item: how it ended, where that is known before pytest's own report."""


@final
@dataclass(frozen=True, slots=True)
class Chosen:
    """What the kit parametrizes a fixture with; so its own parameters are told from others'."""

    devices: tuple[str, ...]
    item: Item | None = None
    """The conformance item, for tests that run the corpus."""

    @property
    def is_any(self) -> bool:
        """Whether the named devices gave anything to choose from."""
        return bool(self.devices)


@final
@dataclass
class KitSession:
    """The state of one run; the backend is loaded when it is first needed."""

    options: HetOptions
    ledger: Ledger = field(default_factory=Ledger)
    nodes: dict[str, str] = field(default_factory=dict)
    """The item that each pytest node id stands for."""

    seen: set[str] = field(default_factory=set)
    """The pytest node ids that there are, where pytest leaves some out as it collects."""

    dropped: set[str] = field(default_factory=set)
    """The pytest node ids that are left out and counted."""

    dead: dict[str, str] = field(default_factory=dict)
    """Nodes whose process died, with what is known of it."""

    began: bool = False
    """Whether tests were to be run, and not only collected."""

    cut: str = ""
    """What cut the run short, where that is known."""

    running: pytest.Item | None = None
    """The test that runs in this process."""

    signal: int | None = None
    """The signal that ended the run."""

    unfinished: list[str] = field(default_factory=list)
    """Why there may be more items than are counted: what was lost before it could be counted."""

    crash: str | None = None
    """What the backend raised when it was closed, after all items."""

    usage: str | None = None
    """Why nothing can be run: the backend cannot be loaded, or a device is mistyped."""

    unwritten: list[str] = field(default_factory=list)
    """Why reports or a lock could not be written at the end, though they could be at first."""

    cases: Path | None = None
    """The folder of cases that are not the kit's own."""

    offered: int | None = None
    """How many conformance items there are to choose from; ``None`` for a part of the corpus."""

    left_out: dict[str, int] = field(default_factory=dict)
    """How many conformance items the devices and the level leave out, by reason."""

    own_waivers: Path | None = None
    """The file of known faults that the backend brings; known when waivers were read."""

    claims: tuple[str, ...] = ()
    """The capability words that the backend declares; known when it was used and closed."""

    unopened: str = ""
    """What the backend raised when it was asked what it is; empty once it has answered."""

    started: float = field(default_factory=time.time)

    @cached_property
    def tested(self) -> Tested:
        """The implementation under test, here and apart."""
        from hettest.tested import Tested

        return Tested(self.options, self.cases)

    @property
    def backend(self) -> Backend:
        """The implementation under test, in this process.

        Raises:
            UsageError: It cannot be loaded.
        """
        return self.tested.here.backend

    def check(self, subject: Subject) -> None:
        """Find out before the first item whether the run makes sense.

        Raises:
            UsageError: The backend cannot be loaded, a device's kind is mistyped, or the waivers
                are malformed.
        """
        self.tested.check(subject)
        if subject is self.tested.apart:
            self.waivers  # noqa: B018 - reads them

    def offer(self, selection: Selection, *, whole: bool) -> None:
        """Note which conformance items there are to choose from.

        Args:
            selection: The items, and how many the devices and the level leave out.
            whole: Whether these are all items of the kit's own corpus for the devices.
        """
        narrowed = self.options.level is not None or self.options.binding is not None
        self.offered = len(selection.items) if whole and not narrowed else None
        self.left_out = dict(selection.left_out)

    @cached_property
    def locks(self) -> DeviceLocks:
        """The real devices, each held by one item at a time."""
        from hettest.locks import DeviceLocks

        return DeviceLocks(patience=self.options.device_wait)

    @cached_property
    def waivers(self) -> Waivers:
        """The known faults of the backend: those that were named, else its own.

        Raises:
            UsageError: The file cannot be read or is malformed.
        """
        from hettest.waivers import Waivers

        if self.own_waivers is None and "tested" in self.__dict__:
            self.own_waivers = self.tested.waivers
        path = self.options.waivers or self.own_waivers
        if path is None:
            return Waivers()
        from hettest.waivers import load

        return load(path)

    @cached_property
    def lock(self) -> Lock | None:
        """The items that are to be run, with how each ended before, if a lock was named.

        Raises:
            UsageError: It cannot be read.
        """
        path = self.options.lock
        if path is None:
            return None
        from hettest.outcome_lock import Lock, read

        is_new = self.options.update_lock and not os.path.exists(path)
        return Lock(path) if is_new else read(path)

    @property
    def locked(self) -> tuple[str, ...]:
        """The items that are to be run by the lock that was named, if one was."""
        return () if self.lock is None or self.options.update_lock else self.lock.items

    @cached_property
    def required(self) -> tuple[Requirement, ...]:
        """The levels that the run must reach.

        Raises:
            UsageError: One has another form, or there is none of that name.
        """
        if not self.options.require:
            return ()
        from hettest.levels.requiring import parse

        return tuple(map(parse, self.options.require))

    def read_files(self) -> None:
        """Read the files that were named, and what is required.

        Raises:
            UsageError: One cannot be read or is malformed; says where.
        """
        require_lock(self.options.lock, self.options.update_lock)
        if self.options.waivers is not None:
            self.waivers  # noqa: B018 - reads them
        if self.options.lock is not None:
            self.lock  # noqa: B018 - reads it
        if self.options.require:
            self.required  # noqa: B018 - reads them

    @property
    def must_be_settled(self) -> bool:
        """Whether something was asked of the run itself, whether it has items or not."""
        asked = self.options
        return asked.lock is not None or (bool(asked.require) and asked.requires_items)

    @property
    def today(self) -> date:
        """The day on which the run began, by which waivers expire."""
        return date.fromtimestamp(self.started)

    def run(self, item: Item) -> Record:
        """Return how a conformance item ended; its devices are held for it meanwhile."""
        record = self.waivers.applied(self._ended(item), self.today)
        if self.lock is None or self.options.update_lock:
            return record
        return self.lock.applied(record)

    def _ended(self, item: Item) -> Record:
        from hettest.locks import DeviceBusy
        from hettest.runner import unjudged

        try:
            missing = self.tested.missing(item.devices, self.tested.apart)
            if missing is not None:
                return self.missing_record(unjudged(item, Outcome.NOT_RUN, ""), missing)
            with self.locks.hold(item.devices):
                return self.tested.apart.run(item)
        except DeviceBusy as busy:
            return unjudged(item, Outcome.NOT_RUN, str(busy))
        except BackendCrash as crash:
            self.unopened = str(crash)
            first, *rest = str(crash).splitlines()
            text = str(crash) if rest else ""
            return replace(unjudged(item, Outcome.CRASHED, first), stage="crash", text=text)

    @cached_property
    def het(self) -> Het:
        """What checking one's own programs needs."""
        from hettest.runner.het import Het

        host = self.options.devices[0] if self.options.devices else "cpu:0"
        return Het(self.backend, self.options.devices, host)

    @cached_property
    def corpus(self) -> Selection:
        """The conformance items for the named devices.

        Raises:
            CaseError: A case file is malformed.
        """
        from hettest.corpus import own_cases, select

        return select(
            own_cases(),
            self.options.devices,
            binding=self.options.binding,
            level=self.options.level,
        )

    def binding_of(self, devices: tuple[str, ...]) -> Binding:
        """Return the device map that was given, or ``host`` and ``accel`` for the devices."""
        if self.options.binding is not None:
            return self.options.binding
        names = ("host", "accel", *(f"accel{i}" for i in range(1, len(devices))))
        return dict(zip(names, devices, strict=False))

    def missing_record(self, record: Record, reason: str) -> Record:
        """Return how the item of ``record`` ends whose device is missing, by the policy."""
        failed = self.options.policy == "fail"
        return replace(
            record,
            outcome=Outcome.FAILED if failed else Outcome.NOT_RUN,
            reason=f"missing device {reason}",
            counted=failed or self.options.policy != "skip",
        )

    def release(self) -> None:
        """Give back what the backend opened, if it was loaded at all; a crash there is kept.

        After a signal there is no time to ask the backend.
        """
        if "tested" not in self.__dict__:
            return
        if self.signal is not None:
            self.abandon()
            return
        self.claims = self.tested.claims
        if self.tested.has_answered:
            self.unopened = ""
        try:
            self.tested.close()
        except BackendCrash as crash:
            self.crash = str(crash)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let an interrupt, or a signal, end what is done inside, and no more than that."""
        with terminations():
            try:
                yield
            except KeyboardInterrupt as end:
                self.interrupt(end)

    def interrupt(self, end: BaseException) -> None:
        """Note what ends the run before all its items."""
        if isinstance(end, Terminated):
            self.signal = end.signal
        self.cut = self.cut or str(end) or type(end).__name__

    def abandon(self) -> None:
        """End what runs for the backend in other processes, at once and without asking it."""
        if "tested" in self.__dict__:
            self.claims = self.tested.claims
            self.tested.kill()

    def exit_code(self, own: int = 0) -> int:
        """Return the run's exit code, of which a crash outside all items makes 1."""
        if self.signal is not None:
            return 128 + self.signal
        return 1 if self.crash is not None else self.account.exit_code(own)

    def close(self) -> None:
        """Settle every item that has no outcome yet, those too that are listed and not here."""
        for node, worker in self.dead.items():
            item = self.nodes.get(node)
            if item is not None:
                self.ledger.add(self._died(item, worker))
        for item in self.locked:
            if item not in self.ledger.selected:
                reason = f"listed in {self.options.lock}, and not among the items of this run"
                case = item.partition("[")[0]
                self.ledger.add(Record(item, Outcome.NOT_RUN, reason, case=case))
        self.ledger.close(self.cut)

    def _died(self, item: str, worker: str) -> Record:
        level = self.ledger.selected.get(item)
        reason = "its process died (a signal, or an exit) while it ran"
        case = None if level is None else item.partition("[")[0]
        record = Record(item, Outcome.CRASHED, reason, level, text=worker, case=case, stage="crash")
        return self.waivers.applied(record, self.today)

    @cached_property
    def account(self) -> Account:
        """What the run comes to; the session must be closed."""
        from hettest.account import Account

        return Account(
            options=self.options,
            ledger=self.ledger,
            cases=self.cases,
            offered=self.offered,
            left_out=self.left_out,
            claims=self.claims,
            unopened=self.unopened,
            waivers=self.waivers,
            lock=None if self.options.update_lock else self.lock,
            required=self.required,
            started=self.started,
            unfinished=tuple(self.unfinished),
            crash=self.crash,
        )

    def content(self) -> ReportContent:
        """Return what reports are made from; the session must be closed."""
        return self.account.content
