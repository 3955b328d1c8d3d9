"""A backend in a process of its own, replaced when it dies and after each batch of items."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, final

from hettest.backend import exact
from hettest.backend.facts import Facts
from hettest.backend.protocol import Rejected
from hettest.case.expansion import Item
from hettest.errors import BackendCrash, ProtocolBreach, UsageError
from hettest.isolation import introduction
from hettest.isolation.frames import Answer, Malformed
from hettest.isolation.observations import part
from hettest.isolation.process import Process, ProcessEnded
from hettest.isolation.remote import RemoteBackend
from hettest.limits import Limits
from hettest.outcome import Outcome, Record
from hettest.runner.asked import Asked
from hettest.runner.run import Environment, run_item, unjudged
from hettest.runner.story import failure, replay

_STARTS: Final = 2
"""Processes in a row that may die before their first item; then no more is tried."""

_LINES: Final = 60
"""Lines of what a process printed that a record shows; the last ones."""


_WIDTH: Final = 2000
"""Characters of each of those lines."""


@final
@dataclass
class Isolated:
    """Runs items in one process after another, and judges here what comes back."""

    asked: Asked
    limits: Limits = field(default_factory=Limits)
    _process: Process | None = field(default=None, init=False)
    _served: int = field(default=0, init=False)
    _left: float = field(default=0.0, init=False)
    """Seconds that the process has left for the item that is run."""

    _end: ProcessEnded | None = field(default=None, init=False)
    """How the process ended during the item that is run, if it did."""

    _remote: RemoteBackend | None = field(default=None, init=False)
    _failed_starts: list[BackendCrash | UsageError] = field(default_factory=list, init=False)
    _at_close: BackendCrash | None = field(default=None, init=False)

    @cached_property
    def facts(self) -> Facts:
        if self._failed_starts:
            raise self._failed_starts[-1]  # a backend that hangs would hang once for each item
        self._ready()
        assert self._remote is not None
        return self._remote.facts

    @cached_property
    def unavailable(self) -> Mapping[str, str]:
        return self.facts.unavailable(self.asked.needed or self.asked.devices)

    def notes(self) -> tuple[str, ...]:
        """Return the sentences that the backend has on this installation.

        Raises:
            BackendCrash: The backend raised something, or its process died.
            UsageError: It cannot be loaded.
        """
        self._ready()
        self._left, self._end = self.limits.seconds, None
        answer = self._ask(("notes",))
        try:
            return tuple(introduction.texts("notes", part(answer.data, "notes", list)))
        except Malformed as wrong:
            raise self._refuse(wrong) from None

    @cached_property
    def environment(self) -> Environment:
        """What judging needs; the backend in it is one that asks the process."""
        asked = self.asked
        assert self._remote is not None
        return Environment(
            self._remote,
            asked.backend,
            asked.devices,
            self.unavailable,
            asked.chosen_by,
            asked.seed,
        )

    def run(self, item: Item) -> Record:
        if self._is_given_up:
            what = f"the backend cannot be started: {self._failed_starts[-1]}"
            return replace(unjudged(item, Outcome.CRASHED, what), stage="crash")
        try:
            process = self._ready()
        except (BackendCrash, UsageError) as error:
            return self._crashed(item, "crash", f"the backend cannot be started: {error}", "")
        self._served += 1
        self._left, self._end = self.limits.seconds, None
        try:
            record = run_item(item, self.environment)
            if self._end is None:
                self._ask(("let go",))
        except (BackendCrash, ProtocolBreach, Rejected) as wrong:
            record = self._crashed(item, "crash", str(wrong), "")
        if self._end is not None:
            return self._crashed(item, self._end.stage, str(self._end), self._drop())
        printed = _told(process.printed())
        return replace(record, text=f"{record.text}\n{printed}".strip("\n")) if printed else record

    def close(self) -> None:
        self._retire()
        if self._at_close is not None:
            crash, self._at_close = self._at_close, None
            raise crash

    def kill(self) -> None:
        """End the process and all that it started, at once; may be called from a signal handler."""
        if self._process is not None:
            self._process.kill_group()

    def _ready(self) -> Process:
        """Return a process that has loaded the backend.

        Raises:
            BackendCrash: The backend raised something, or its process died.
            UsageError: It cannot be loaded.
        """
        if self._end is not None or self._served >= self.limits.batch:
            self._retire()
        if self._process is not None:
            return self._process
        if self._is_given_up:
            raise self._failed_starts[-1]
        try:
            self._introduce(self._start())
        except (BackendCrash, UsageError) as error:
            self._failed_starts.append(error)
            raise
        self._failed_starts.clear()
        assert self._process is not None
        return self._process

    @property
    def _is_given_up(self) -> bool:
        """Whether too many processes in a row could not be started to try yet another."""
        return len(self._failed_starts) >= _STARTS

    def _introduce(self, facts: Facts) -> None:
        """Note what the backend of a new process says of itself, from which claims may differ."""
        if self._remote is None:
            self._remote = RemoteBackend(facts, facts.capabilities, self._ask, self._refuse)
        self._remote.facts, self._remote.claims = facts, facts.capabilities

    def _start(self) -> Facts:
        self._process, self._served = Process.start(self.asked, self.limits), 0
        try:
            answer = self._put(self._process, ("facts",), self.limits.start)
            wrong = _raised(answer)
            if wrong is None:
                return introduction.facts_of(answer)
        except ProcessEnded as end:
            raise self._died(end) from None
        except Malformed as nonsense:
            raise self._died(self._process.refused(nonsense)) from None
        except UsageError as error:
            wrong = error
        self._process.close()
        self._drop()
        raise wrong if isinstance(wrong, UsageError) else BackendCrash(str(wrong))

    def _died(self, end: ProcessEnded) -> BackendCrash:
        return BackendCrash("\n".join(filter(None, (str(end), self._drop()))))

    def _ask(self, question: tuple[Any, ...]) -> Answer:
        """Return what the process answers, within the time that the item has left.

        Raises:
            Rejected: The backend does not accept the program, or the run ended in an error.
            ProtocolBreach: It returned something that the protocol does not have.
            BackendCrash: It raised something else, or its process ended.
        """
        if self._process is None or self._end is not None:
            raise BackendCrash(str(self._end or "its process has ended"))
        started = time.monotonic()
        try:
            answer = self._put(self._process, question, self._left, self.limits.seconds)
        except ProcessEnded as end:
            self._end = end
            raise BackendCrash(str(end)) from None
        self._left = max(0.0, self._left - (time.monotonic() - started))
        assert self._remote is not None
        claims = self._remote.read(answer, introduction.claims_of)
        self._remote.claims = self._remote.claims if claims is None else claims
        wrong = self._remote.read(answer, _raised)
        if wrong is None:
            return answer
        raise BackendCrash(str(wrong)) if isinstance(wrong, UsageError) else wrong

    def _refuse(self, wrong: Malformed) -> BackendCrash:
        """End the process that answered nonsense, and return what to raise."""
        assert self._process is not None
        self._end = self._process.refused(wrong)
        return BackendCrash(str(self._end))

    def _put(
        self,
        process: Process,
        question: tuple[Any, ...],
        seconds: float,
        limit: float | None = None,
    ) -> Answer:
        try:
            return process.ask(question, seconds, limit)
        except ProcessEnded:
            raise
        except BaseException:  # the user's interrupt
            self._drop()
            raise

    def _retire(self) -> None:
        """End the process in order; what the backend raises then is kept for `close`."""
        process = self._process
        if process is None:
            return
        if self._end is not None:  # it has ended already, and that was told
            self._drop()
            return
        wrong: Exception | None
        try:
            wrong = _raised(self._put(process, ("close",), self.limits.seconds))
            process.close()
        except ProcessEnded as end:
            wrong = BackendCrash(f"{self.asked.backend}.close(): {end}")
        except Malformed as nonsense:
            wrong = BackendCrash(f"{self.asked.backend}.close(): {process.refused(nonsense)}")
        self._drop()
        if wrong is not None:
            self._at_close = self._at_close or BackendCrash(str(wrong))

    def _drop(self) -> str:
        """Forget a process that has ended; return what it printed last, and where it hung."""
        assert self._process is not None
        printed = _told(self._process.printed())
        stacks = _told(self._process.stacks(), "stacks")
        self._process.release()
        self._process, self._end = None, None
        return "\n".join(filter(None, (printed, stacks)))

    def _crashed(self, item: Item, stage: str, reason: str, printed: str) -> Record:
        first = reason.splitlines()[0]
        asked = self.asked
        again = replay(item.id, asked.devices, asked.backend, asked.chosen_by)
        story = failure(item, (), None, again).replace("\n", f"\n  crashed: {reason}\n", 1)
        record = unjudged(item, Outcome.CRASHED, first)
        return replace(record, stage=stage, text=f"{story}\n{printed}".rstrip())


def _raised(answer: Answer) -> Exception | None:
    """Return what an answer says that the backend raised, or did wrong; ``None`` if nothing.

    Raises:
        Malformed: It says that in no form.
    """
    data = answer.data
    if "rejected" in data:
        parts = part(data, "rejected", dict)
        message = part(parts, "message", str)
        try:
            found = Rejected(parts.get("stage"), parts.get("code"), parts.get("line"), message)  # type: ignore[arg-type] # looked at next
            return exact.rejection(found)
        except ProtocolBreach as wrong:
            raise Malformed(f"answered a rejection, but it {wrong}") from None
    if "crash" in data:
        parts = part(data, "crash", dict)
        return BackendCrash(*(part(parts, name, str) for name in ("message", "reason", "frames")))
    if "breach" in data:
        return ProtocolBreach(part(data, "breach", str))
    return UsageError(part(data, "usage", str)) if "usage" in data else None


def _told(printed: str, heading: str = "printed") -> str:
    """Return what a process printed as part of a story; empty if it printed nothing."""
    lines = printed.strip("\n").splitlines()
    if not lines:
        return ""
    cut = [f"    … {len(lines) - _LINES} lines before …"] if len(lines) > _LINES else []
    shown = (f"    {exact.cut(line, _WIDTH)}" for line in lines[-_LINES:])
    return "\n".join([f"  {heading}:", *cut, *shown])
