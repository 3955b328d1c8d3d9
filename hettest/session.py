"""One run of the kit: what was asked for, the backend, and how every item ended."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import pytest

from hettest.devicemap import Binding
from hettest.errors import BackendCrash, UsageError
from hettest.options import HetOptions
from hettest.outcome import Ledger, Outcome, Record

if TYPE_CHECKING:
    from hettest.backend.device import Device
    from hettest.backend.protocol import Backend, DeviceInfo
    from hettest.case.expansion import Item
    from hettest.corpus import Selection
    from hettest.report import ReportContent
    from hettest.runner.het import Het
    from hettest.runner.run import Environment


KEY: Final = pytest.StashKey["KitSession"]()
"""Where the plugin keeps the session in pytest's configuration."""

ENDED: Final = pytest.StashKey[Record]()
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

    dead: dict[str, str] = field(default_factory=dict)
    """Nodes whose process died, with what is known of it."""

    crash: str | None = None
    """What the backend raised when it was closed, after all items."""

    usage: str | None = None
    """Why nothing can be run: the backend cannot be loaded, or a device is mistyped."""

    cases: Path | None = None
    """The folder of cases that are not the kit's own."""

    offered: int | None = None
    """How many conformance items there are to choose from; ``None`` for a part of the corpus."""

    left_out: dict[str, int] = field(default_factory=dict)
    """How many conformance items the devices and the level leave out, by reason."""

    claims: tuple[str, ...] = ()
    """The capability words that the backend declares; known when it was used and closed."""

    started: float = field(default_factory=time.time)
    _content: ReportContent | None = None

    @cached_property
    def backend(self) -> Backend:
        """The implementation under test.

        Raises:
            UsageError: It cannot be loaded.
        """
        from hettest.backend.discovery import load

        return load(self.options.backend)

    @cached_property
    def _known(self) -> tuple[DeviceInfo, ...]:
        from hettest.backend.discovery import devices_of

        return devices_of(self.backend)

    def info(self, device: str) -> DeviceInfo:
        """Return what the backend says of a device."""
        from hettest.backend.discovery import info

        return info(self.backend.name, device, self._known)

    def check_backend(self) -> None:
        """Find out before the first item whether the run makes sense.

        Raises:
            UsageError: The backend cannot be loaded, or a device's kind is mistyped.
        """
        from hettest.backend.discovery import mistyped

        try:
            known = self._known
        except BackendCrash:
            return  # each item will say so
        for device in self.options.devices:
            meant = mistyped(device, known)
            if meant is not None:
                raise UsageError(
                    f"{self.backend.name} has no device {device}; did you mean {meant}?"
                )

    def offer(self, selection: Selection, *, whole: bool) -> None:
        """Note which conformance items there are to choose from.

        Args:
            selection: The items, and how many the devices and the level leave out.
            whole: Whether these are all items of the kit's own corpus for the devices.
        """
        narrowed = self.options.level is not None or self.options.binding is not None
        self.offered = len(selection.items) if whole and not narrowed else None
        self.left_out = dict(selection.left_out)

    def device(self, name: str) -> Device:
        """Return a named device, as tests see it."""
        from hettest.backend.device import Device

        return Device(self.info(name), self.backend)

    def missing(self, devices: tuple[str, ...]) -> str | None:
        """Return why these devices cannot all be had, or ``None`` if they can."""
        reasons = [f"{d}: {self.unavailable[d]}" for d in devices if d in self.unavailable]
        return "; ".join(reasons) or None

    @cached_property
    def unavailable(self) -> Mapping[str, str]:
        """Why, for each device that was asked for and is missing."""
        named = (*self.options.devices, *(self.options.binding or {}).values())
        infos = (self.info(device) for device in dict.fromkeys(named))
        return {i.name: i.reason or "not available" for i in infos if not i.available}

    @cached_property
    def environment(self) -> Environment:
        """What running conformance cases needs."""
        from hettest.runner.run import Environment

        return Environment(
            self.backend,
            self.options.backend,
            self.options.devices,
            self.unavailable,
            self._chosen_by(),
        )

    def _chosen_by(self) -> tuple[str, ...]:
        """Return the options that choose the items beside the devices, for replay lines."""
        from hettest.devicemap import show

        binding, cases = self.options.binding, self.cases
        mapped = () if binding is None else (f"--device-map={show(binding)}",)
        return mapped if cases is None else (*mapped, f"--cases={cases}")

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

    def to_worker_output(self) -> dict[str, Any]:
        """Return what the controller of a distributed run must know of this worker's."""
        return {
            "selected": [[item, level] for item, level in self.ledger.selected.items()],
            "deselected": dict(self.ledger.deselected),
            "nodes": dict(self.nodes),
            "crash": self.crash,
            "usage": self.usage,
            "offered": self.offered,
            "left_out": self.left_out,
            "claims": self.claims,
        }

    def merge(self, output: Mapping[str, Any]) -> None:
        """Take over what a worker knows; every worker collects the same items."""
        for item, level in output["selected"]:
            self.ledger.select(item, level)
        self.ledger.deselected.update(output["deselected"])
        self.nodes.update(output["nodes"])
        self.crash = self.crash or output["crash"]
        self.usage = self.usage or output["usage"]
        self.offered, self.left_out = output["offered"], output["left_out"]
        self.claims = self.claims or tuple(output["claims"])

    def release(self) -> None:
        """Give back what the backend opened, if it was loaded at all; a crash there is kept."""
        if "backend" not in self.__dict__:
            return
        from hettest.backend.guard import crashes

        try:
            with crashes(f"{self.options.backend}.close()"):
                self.claims = tuple(sorted(self.backend.capabilities))
                self.backend.close()
        except BackendCrash as crash:
            self.crash = str(crash)

    def exit_code(self, own: int = 0) -> int:
        """Return the run's exit code, of which a crash outside all items makes 1."""
        return 1 if self.crash is not None else self.ledger.exit_code(own)

    def close(self) -> None:
        """Settle every item that has no outcome yet."""
        for node, worker in self.dead.items():
            item = self.nodes.get(node)
            if item is not None and item not in self.ledger.records:
                level = self.ledger.selected.get(item)
                reason = "its process died (a signal, or an exit) while it ran"
                self.ledger.add(Record(item, Outcome.CRASHED, reason, level, text=worker))
        self.ledger.close()

    def content(self) -> ReportContent:
        """Return what reports are made from, once made; the session must be closed."""
        if self._content is None:
            self._content = self._reported()
        return self._content

    def _reported(self) -> ReportContent:
        from hettest.corpus import corpus_root, expected_items
        from hettest.report import ReportContent

        records = self.ledger.in_order()
        found = sum(1 for record in records if record.level is not None)
        whole = found > 0 and found == self.offered
        expected = expected_items(corpus_root(), self.options.devices) if whole else None
        return ReportContent(
            backend=self.options.backend,
            devices=self.options.devices,
            policy=self.options.policy,
            counts=self.ledger.counts(),
            records=records,
            deselected=self.left_out | self.ledger.deselected,
            expected=None if expected is None else expected[1],
            expected_file=None if expected is None else expected[0].name,
            started=self.started,
            seconds=time.time() - self.started,
            **self._judged(records),
        )

    def _judged(self, records: Sequence[Record]) -> dict[str, Any]:
        """Return what a report says of levels and coverage, if items of the corpus were run."""
        if self.cases is not None or not any(record.case for record in records):
            return {}
        from hettest.levels.judged import covered, standings
        from hettest.report.provenance import suite

        return {
            "claims": self.claims,
            "standings": standings(records, self.claims, self.options.devices),
            "coverage": covered(records),
            "suite": suite(),
        }
