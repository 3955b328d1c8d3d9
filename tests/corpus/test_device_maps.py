"""Cases of placement on devices with other ids, beside a decoy that nothing may touch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from hettest.backend.protocol import DeviceInfo, Mode, Observation, Options, Program
from hettest.case.expansion import Item
from hettest.case.model import Case
from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Outcome
from hettest.runner import TextProgram, run_item
from hettest.runner.run import Environment
from reference_vm.conformance import Backend as Reference
from reference_vm.conformance import Executable, TimedExecutable

AREAS = ("placement", "planning", "bugs")
MAPS = (
    (("cpu:0", "sim:3"), "sim:0"),
    (("cpu:0", "cpu:1"), "cpu:2"),
    (("cpu:0", "sim:2", "sim:1"), "sim:0"),
)
"""The devices that are named, and the decoy: a device that is opened and that no role is."""


def touched(
    executable: Executable | TimedExecutable, seen: Observation
) -> Iterator[tuple[str, str]]:
    """Yield every device that a run or the loading before it touched, with what touched it."""
    for execution in seen.executions or ():
        yield execution.device, f"ran {execution.op}"
    for copy in seen.copies or ():
        yield copy.source, f"copied {copy.value}"
        yield copy.target, f"copied {copy.value}"
    for record in (*executable.session.load_trace, *executable.session.trace):
        yield record.device, record.kind
        if record.via is not None:
            yield record.via, "staged a copy"
        for access in (*record.reads, *record.writes):
            yield access.device, f"memory of {record.kind}"
    for device, memory in (seen.memory or {}).items():
        if memory.peak or memory.end:
            yield device, "memory in use"


@dataclass
class Watched:
    """The reference with one more device, which is listed first, and what touched it."""

    decoy: str
    reference: Reference = field(default_factory=Reference)
    found: list[str] = field(default_factory=list)
    name = "watched"

    @property
    def capabilities(self) -> frozenset[str]:
        return self.reference.capabilities

    def devices(self) -> Sequence[DeviceInfo]:
        return self.reference.devices()

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> WatchedExecutable:
        text = program.text.replace("module {", "module { vdevice @decoy", 1)  # no line more
        roles = {"decoy": self.decoy, **device_map}
        made = self.reference.compile(TextProgram(program.id, text), roles, options)
        return WatchedExecutable(self, made)

    def close(self) -> None:
        self.reference.close()


@dataclass
class WatchedExecutable:
    backend: Watched
    executable: Executable | TimedExecutable

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        seen = self.executable.run(entry, args)
        decoy = self.backend.decoy
        self.backend.found += (what for d, what in touched(self.executable, seen) if d == decoy)
        return seen


@cache
def corpus() -> tuple[Case, ...]:
    return cases(corpus_root())


def items(devices: tuple[str, ...], *patterns: str) -> tuple[Item, ...]:
    return select(corpus(), devices, patterns=patterns or AREAS).items


def one_of_each_sweep(found: Sequence[Item]) -> tuple[Item, ...]:
    """Return the first item for each run, binding and policy: dtypes choose no devices."""
    first: dict[tuple[object, ...], Item] = {}
    for item in found:
        key = (item.case.id, item.name, tuple(item.binding.items()), item.policy, item.default)
        first.setdefault(key, item)
    return tuple(first.values())


@pytest.mark.parametrize(("devices", "decoy"), MAPS, ids=[",".join(d) for d, _ in MAPS])
def test_cases_pass_on_other_ids_and_touch_no_decoy(devices: tuple[str, ...], decoy: str) -> None:
    backend = Watched(decoy)
    environment = Environment(backend, backend.name, devices, {})

    for item in one_of_each_sweep(items(devices)):
        record = run_item(item, environment)
        assert record.outcome in (Outcome.PASSED, Outcome.UNSUPPORTED), record.text
        assert not backend.found, f"{item.id} touched {decoy}: {backend.found}"


def test_the_watch_sees_a_device_that_is_touched() -> None:
    devices = ("cpu:0", "sim:3")
    backend = Watched("sim:3")
    environment = Environment(backend, backend.name, devices, {})

    (item, *_) = items(devices, "placement/shared_input")
    run_item(item, environment)

    assert {"copied main/%b", "alloc", "memory in use"} <= set(backend.found)
    assert any(what.startswith("ran ") for what in backend.found)


def test_every_order_of_the_accelerators_is_run() -> None:
    bindings = {tuple(item.binding.values()) for item in items(MAPS[-1][0])}

    assert {("cpu:0", "sim:2", "sim:1"), ("cpu:0", "sim:1", "sim:2")} <= bindings
