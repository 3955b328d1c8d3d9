"""A backend in a process of its own, replaced when it dies and after each batch of items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, final

from hettest.backend.facts import Facts
from hettest.case.expansion import Item
from hettest.errors import BackendCrash, UsageError
from hettest.isolation.process import Process, ProcessEnded
from hettest.limits import Limits
from hettest.outcome import Outcome, Record
from hettest.runner.run import unjudged
from hettest.runner.story import failure, replay
from hettest.runner.subject import Asked

_STARTS: Final = 2
"""Processes in a row that may die before their first item; then no more is tried."""

_LINES: Final = 60
"""Lines of what a process printed that a record shows; the last ones."""


@final
@dataclass
class Isolated:
    """Runs items in one process after another."""

    asked: Asked
    limits: Limits = field(default_factory=Limits)
    _process: Process | None = field(default=None, init=False)
    _served: int = field(default=0, init=False)
    _facts: Facts | None = field(default=None, init=False)
    _failed_starts: list[BackendCrash | UsageError] = field(default_factory=list, init=False)
    _at_close: BackendCrash | None = field(default=None, init=False)

    @cached_property
    def facts(self) -> Facts:
        if self._failed_starts:
            raise self._failed_starts[-1]  # a backend that hangs would hang once for each item
        self._ready()
        assert self._facts is not None
        return self._facts

    @cached_property
    def unavailable(self) -> Mapping[str, str]:
        return self.facts.unavailable(self.asked.needed or self.asked.devices)

    def run(self, item: Item) -> Record:
        if self._is_given_up:
            what = f"the backend cannot be started: {self._failed_starts[-1]}"
            return replace(unjudged(item, Outcome.CRASHED, what), stage="crash")
        try:
            process = self._ready()
        except (BackendCrash, UsageError) as error:
            return self._crashed(item, "crash", f"the backend cannot be started: {error}", "")
        self._served += 1
        try:
            answer = self._ask(process, ("run", item), self.limits.seconds)
        except ProcessEnded as end:
            return self._crashed(item, end.stage, str(end), self._drop())
        printed = _told(process.printed())
        if "record" not in answer:
            what = answer.get("crash") or answer.get("usage") or "its process answered nonsense"
            return self._crashed(item, "crash", what, printed)
        record = Record.from_json(answer["record"])
        return replace(record, text=f"{record.text}\n{printed}".strip("\n")) if printed else record

    def close(self) -> None:
        self._retire()
        if self._at_close is not None:
            crash, self._at_close = self._at_close, None
            raise crash

    def _ready(self) -> Process:
        """Return a process that has loaded the backend.

        Raises:
            BackendCrash: The backend raised something, or its process died.
            UsageError: It cannot be loaded.
        """
        if self._process is not None and self._served >= self.limits.batch:
            self._retire()
        if self._process is not None:
            return self._process
        if self._is_given_up:
            raise self._failed_starts[-1]
        try:
            self._facts = self._start()
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

    def _start(self) -> Facts:
        self._process, self._served = Process.start(self.asked, self.limits), 0
        try:
            answer = self._ask(self._process, ("facts",), self.limits.start)
        except ProcessEnded as end:
            raise BackendCrash("\n".join(filter(None, (str(end), self._drop())))) from None
        if "facts" in answer:
            return Facts.from_json(answer["facts"])
        self._process.close()
        self._drop()
        if "usage" in answer:
            raise UsageError(answer["usage"])
        raise BackendCrash(answer.get("crash", "its process answered nonsense"))

    def _ask(self, process: Process, question: tuple[Any, ...], seconds: float) -> dict[str, Any]:
        try:
            return process.ask(question, seconds)
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
        answer: dict[str, Any] = {}
        try:
            answer = self._ask(process, ("close",), self.limits.seconds)
            process.close()
        except ProcessEnded as end:
            answer = {"crash": f"{self.asked.backend}.close(): {end}"}
        self._drop()
        if "crash" in answer:
            self._at_close = self._at_close or BackendCrash(answer["crash"])

    def _drop(self) -> str:
        """Forget a process that has ended; return what it printed last, and where it hung."""
        assert self._process is not None
        printed = _told(self._process.printed())
        stacks = _told(self._process.stacks(), "stacks")
        self._process.release()
        self._process = None
        return "\n".join(filter(None, (printed, stacks)))

    def _crashed(self, item: Item, stage: str, reason: str, printed: str) -> Record:
        first = reason.splitlines()[0]
        asked = self.asked
        again = replay(item.id, asked.devices, asked.backend, asked.chosen_by)
        story = failure(item, (), None, again).replace("\n", f"\n  crashed: {reason}\n", 1)
        record = unjudged(item, Outcome.CRASHED, first)
        return replace(record, stage=stage, text=f"{story}\n{printed}".rstrip())


def _told(printed: str, heading: str = "printed") -> str:
    """Return what a process printed as part of a story; empty if it printed nothing."""
    lines = printed.strip("\n").splitlines()
    if not lines:
        return ""
    cut = [f"    … {len(lines) - _LINES} lines before …"] if len(lines) > _LINES else []
    return "\n".join([f"  {heading}:", *cut, *(f"    {line}" for line in lines[-_LINES:])])
