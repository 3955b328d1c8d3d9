"""The implementation under test, twice: in this process, and as conformance items see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import final

from hettest.backend.device import Device
from hettest.backend.discovery import info
from hettest.devicemap import show
from hettest.errors import BackendCrash, UsageError
from hettest.options import HetOptions
from hettest.runner.asked import Asked
from hettest.runner.subject import InProcess, Subject


@final
@dataclass(frozen=True)
class Tested:
    """What the options name; loaded when it is first needed, by whoever needs it."""

    options: HetOptions
    cases: Path | None = None
    """The folder of cases that are not the kit's own."""

    @cached_property
    def asked(self) -> Asked:
        """What this run asks of the backend."""
        named = (*self.options.devices, *(self.options.binding or {}).values())
        return Asked(
            self.options.backend,
            self.options.devices,
            tuple(dict.fromkeys(named)),
            tuple(self._chosen_by()),
            self.options.seed,
        )

    @cached_property
    def here(self) -> InProcess:
        """The backend in this process, as tests of one's own see it."""
        return InProcess(self.asked)

    @cached_property
    def apart(self) -> Subject:
        """The backend as conformance items see it: isolated, or `here`.

        Raises:
            UsageError: The memory limit that was asked for cannot be held on this system.
        """
        if not self.options.isolated:
            return self.here
        from hettest.isolation import Isolated, memory

        if self.options.limits.memory is not None and not memory.can_be_watched():
            raise UsageError("a memory limit needs /proc, as Linux has it")
        return Isolated(self.asked, self.options.limits)

    @property
    def _used(self) -> Iterator[Subject]:
        """Yield what has been asked for, once each."""
        found = [self.__dict__[name] for name in ("apart", "here") if name in self.__dict__]
        yield from {id(subject): subject for subject in found}.values()

    def check(self, subject: Subject) -> None:
        """Find out whether a run makes sense; a backend that crashes will say so in each item.

        Raises:
            UsageError: The backend cannot be loaded, or a device's kind is mistyped.
        """
        try:
            subject.facts.check(self.options.devices)
        except BackendCrash:
            return

    def missing(self, devices: tuple[str, ...], subject: Subject) -> str | None:
        """Return why these devices cannot all be had, or ``None`` if they can.

        Raises:
            BackendCrash: The backend raised something, or its process died.
        """
        absent = subject.unavailable
        return "; ".join(f"{d}: {absent[d]}" for d in devices if d in absent) or None

    def device(self, name: str) -> Device:
        """Return a named device, as tests of one's own see it."""
        facts = self.here.facts
        return Device(info(facts.name, name, facts.devices), self.here.backend)

    @property
    def has_answered(self) -> bool:
        """Whether the backend has said what it is; `False` too if it was never asked."""
        return any("facts" in subject.__dict__ for subject in self._used)

    @property
    def claims(self) -> tuple[str, ...]:
        """The capability words that the backend declares, sorted; none if it was not asked."""
        known = (s.facts for s in self._used if "facts" in s.__dict__)
        return tuple(sorted(next((facts.capabilities for facts in known), ())))

    @property
    def waivers(self) -> Path | None:
        """The file of known faults that the backend brings, if conformance items asked for it."""
        known = "apart" in self.__dict__ and "facts" in self.apart.__dict__
        return self.apart.facts.waivers if known else None

    def close(self) -> None:
        """Give back what was opened.

        Raises:
            BackendCrash: The backend raised something instead.
        """
        crash: BackendCrash | None = None
        for subject in self._used:
            try:
                subject.close()
            except BackendCrash as error:
                crash = error
        if crash is not None:
            raise crash

    def kill(self) -> None:
        """End the processes that the backend runs in, without asking it."""
        apart = self.__dict__.get("apart")
        if apart is None:
            return
        from hettest.isolation import Isolated

        if isinstance(apart, Isolated):
            apart.kill()

    def _chosen_by(self) -> Iterator[str]:
        """Yield the options that choose the items beside the devices, for replay lines."""
        if self.options.binding is not None:
            yield f"--device-map={show(self.options.binding)}"
        if self.cases is not None:
            yield f"--cases={self.cases}"
        if self.options.isolate not in (None, replace(self.options, isolate=None).isolated):
            yield "--isolate" if self.options.isolate else "--no-isolate"
        if self.options.seed:
            yield f"--seed={self.options.seed}"
