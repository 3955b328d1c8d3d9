"""Checks an adapter before any numerics, in a process whose death or silence is a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import final

from hettest.isolation.frames import Answer, Malformed
from hettest.isolation.observations import part
from hettest.isolation.process import Process, ProcessEnded
from hettest.ledger import INCOMPLETE
from hettest.limits import Limits
from hettest.probing.check_catalog import CHECKS, Check
from hettest.probing.finding import Finding, State
from hettest.probing.serving import HERE
from hettest.runner.asked import Asked

OUTPUT = "output"
"""The last check: standard output belongs to reports."""


def findings(backend: str, devices: Sequence[str], limits: Limits) -> Iterator[Finding]:
    """Yield what each check of a backend found, as it is found.

    Args:
        backend: Its name, as the user gave it.
        devices: The devices to check, in canonical form; empty for one of each kind there is.
        limits: How long one check may take, and how much memory.
    """
    checking = _Checking(Asked(backend, tuple(devices)), limits)
    try:
        for number, check in enumerate(CHECKS):
            yield checking.made(number, check)
        yield checking.output()
    finally:
        checking.drop()


def exit_code(found: Iterable[Finding], policy: str) -> int:
    """Return 1 if a check failed, 6 if one was not run since a device is missing, else 0.

    Under the policy ``fail`` what was not run counts as failed, under ``skip`` not at all.
    """
    states = {finding.state for finding in found}
    if State.FAILED in states:
        return 1
    if State.NOT_RUN not in states:
        return 0
    return {"fail": 1, "skip": 0}.get(policy, INCOMPLETE)


@final
@dataclass
class _Checking:
    asked: Asked
    limits: Limits
    states: dict[str, State] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)
    """The checks during which something was printed, with its first line."""

    process: Process | None = None

    def made(self, number: int, check: Check) -> Finding:
        """Make one check, unless one that it rests on does not hold."""
        lost = next((need for need in check.needs if self.states[need] is not State.OK), None)
        if lost is not None:
            missed = self.states[lost] is State.NOT_RUN
            state = State.NOT_RUN if missed else State.NOT_APPLICABLE
            found = Finding(check.name, state, f"rests on {lost}")
        else:
            found = self._asked(number, check)
        self.states[check.name] = found.state
        return found

    def _asked(self, number: int, check: Check) -> Finding:
        if self.process is None:
            self.process = Process.start(self.asked, self.limits)
        seconds = self.limits.start if check.name == "loads" else self.limits.seconds
        question = ("call", HERE, number, list(self.asked.devices))
        try:
            answer = self.process.ask(question, seconds)
        except ProcessEnded as end:
            self.drop()
            return Finding(check.name, State.FAILED, str(end))
        try:
            return self._read(check, answer)
        except Malformed as wrong:
            told = str(self.process.refused(wrong))
            self.drop()
            return Finding(check.name, State.FAILED, told)

    def _read(self, check: Check, answer: Answer) -> Finding:
        """Return the finding that an answer says; raises `Malformed` if it says none."""
        if "crash" in answer.data:
            return Finding(
                check.name, State.FAILED, part(part(answer.data, "crash", dict), "message", str)
            )
        value = part(answer.data, "value", dict)
        printed, found = part(value, "printed", str), part(value, "finding", dict)
        if printed.strip():
            first = printed.strip().splitlines()[0][:60]
            self.printed.append(f"during {check.name}: {first!r}")
        state = part(found, "state", str)
        if state not in set(State):
            raise Malformed(f"answered state {state!r}, expected one of {', '.join(State)}")
        return Finding(check.name, State(state), part(found, "detail", str))

    def output(self) -> Finding:
        """Return whether anything was printed."""
        if self.states["loads"] is not State.OK:
            return Finding(OUTPUT, State.NOT_APPLICABLE, "rests on loads")
        if not self.printed:
            return Finding(OUTPUT, State.OK, "nothing is printed on standard output")
        told = "standard output belongs to reports; log, or write to standard error"
        return Finding(OUTPUT, State.FAILED, "\n".join([told, *self.printed]))

    def drop(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.release()
            self.process = None
