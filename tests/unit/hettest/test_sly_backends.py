"""Backends that change their minds, and observations that do something when they are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hettest.backend.protocol import Copy, Execution, Memory, Mode, Observation, Options, Program
from hettest.case.expansion import expand
from hettest.outcome import Outcome, Record
from hettest.runner import run_item
from hettest.runner.run import Environment
from tests.unit.hettest import fake_backend
from tests.unit.hettest.case.written import load_text, text

DEVICES = ("cpu:0", "sim:0")
WIDE: Any = np.int64(8)
NOTHING: Any = None


class _Fake(fake_backend.Backend):
    pass


class ForgetsWhatItClaimed(_Fake):
    asked = 0

    @property
    def capabilities(self) -> frozenset[str]:
        self.asked += 1
        claims = frozenset(self.claims)
        return claims if self.asked < 4 else claims - {"op:*"}


class ExitsWhenRead(list[Execution]):
    def __iter__(self) -> Iterator[Execution]:
        sys.exit(0)


@dataclass
class Showing:
    """Runs the program, and shows one field otherwise."""

    whole: Any
    changes: Mapping[str, Any]

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        seen: Observation = self.whole.run(entry, args)
        return replace(seen, **self.changes)


class Shows(_Fake):
    changes: Mapping[str, Any] = {}

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        return Showing(super().compile(program, device_map, options), self.changes)


def showing(**changes: Any) -> Shows:
    backend = Shows()
    backend.changes = changes
    return backend


def ended(folder: Path, backend: fake_backend.Backend, content: str = "") -> list[Record]:
    (case,) = load_text(folder, content or text())
    environment = Environment(backend, "sly", DEVICES, {})
    return [run_item(item, environment) for item in expand(case, DEVICES)]


def test_claims_that_change_during_a_run_excuse_nothing(tmp_path: Path) -> None:
    records = ended(tmp_path, ForgetsWhatItClaimed()) + ended(tmp_path, ForgetsWhatItClaimed())

    changed = [r for r in records if "its capabilities changed during the run: op:*" in r.reason]
    assert changed
    assert {r.outcome for r in changed} == {Outcome.FAILED}
    assert all(r.outcome is not Outcome.UNSUPPORTED for r in records)


def test_what_ends_the_process_when_it_is_read_is_a_crash(tmp_path: Path) -> None:
    record = ended(tmp_path, showing(executions=ExitsWhenRead([])))[0]

    assert record.outcome is Outcome.CRASHED
    assert "SystemExit" in record.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"copies": [Copy("cpu:0", "sim:0", bytes=WIDE)]}, "copies[0].bytes is an int64"),
        ({"copies": [Copy("cpu:0", "sim:0", count=NOTHING)]}, "copies[0].count is None"),
        ({"executions": [Execution("add", ("main/%s",), NOTHING)]}, "executions[0].device is None"),
        ({"memory": {"sim:0": Memory(0, -5, 9)}}, "memory[0].end is -5, expected no less than 0"),
    ],
)
def test_parts_of_observations_are_what_the_protocol_says(
    tmp_path: Path, changes: Mapping[str, Any], reason: str
) -> None:
    record = ended(tmp_path, showing(**changes))[0]

    assert record.outcome is Outcome.FAILED
    assert reason in record.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"executions": [Execution("add", ("main/%ghost",), "cpu:0")]}, "defines 'main/%ghost'"),
        ({"intermediates": {"main/%ghost": np.zeros(4)}}, "hold 'main/%ghost'"),
        ({"copies": [Copy("cpu:0", "sim:0", "main/%ghost", 8)]}, "is of 'main/%ghost'"),
    ],
)
def test_what_is_named_is_in_the_program(
    tmp_path: Path, changes: Mapping[str, Any], reason: str
) -> None:
    record = ended(tmp_path, showing(**changes))[0]

    assert record.outcome is Outcome.FAILED
    assert f"{reason}, which is no variable of the program" in record.text


def test_no_pin_of_ours_is_needed_to_say_how_many_results_there_are(tmp_path: Path) -> None:
    pin = 'name   = "plain"\nadvisory = "nobody else says what this gives"\n'
    content = text().replace('name   = "plain"\n', pin)

    record = ended(tmp_path, showing(results=np.zeros(99, np.int8)), content)[0]

    assert record.outcome is Outcome.FAILED
    assert "int8[99]" in record.reason
