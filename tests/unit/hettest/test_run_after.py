"""A run that names another: the same executable makes that one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hettest.backend.protocol import DeviceInfo, Mode, Observation, Options, Program, Rejected
from hettest.case.expansion import expand
from hettest.case.loader import load
from hettest.case.model import Case
from hettest.errors import CaseError
from hettest.outcome import Outcome, Record
from hettest.runner.run import Environment, run_item

CASE = """
format  = 1
summary = "a number is negated twice over"
level   = 2
clauses = ["runs.repeated"]
program = '''
module {
  fn @main(%x: f32[1]) -> f32[1] {
    %y = negative(%x)
    return %y
  }
}
'''

[[run]]
name   = "one"
args.x = { dtype = "f32", shape = [1], data = [1.0] }
END

[[run]]
name   = "two"
after  = "AFTER"
args.x = { dtype = "f32", shape = [1], data = [2.0] }
result = { dtype = "f32", shape = [1], data = [-2.0] }
"""
RESULT = 'result = { dtype = "f32", shape = [1], data = [-1.0] }'


@dataclass
class _Recorder:
    """Negates and notes what it was given; refuses 1.0, or reuses its result's memory, if told."""

    refuses: bool = False
    reuses: bool = False
    """Whether it returns the same array every time."""

    seen: list[float] = field(default_factory=list)
    kept: Any = field(default_factory=lambda: np.zeros(1, np.float32))
    name: str = "recorder"
    capabilities: frozenset[str] = frozenset({"op:*", "dtype:*", "device:*", "diagnostics:data"})

    def devices(self) -> Sequence[DeviceInfo]:
        return ()

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> _Recorder:
        return self

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Observation:
        self.seen.append(float(args[0][0]))
        if self.refuses and args[0][0] == 1:
            raise Rejected("run", "broken")
        if not self.reuses:
            return Observation(results=-args[0])
        self.kept[:] = -args[0]
        return Observation(results=self.kept)

    def close(self) -> None: ...


def _case(tmp_path: Path, *, after: str = "one", end: str = RESULT) -> Case:
    path = tmp_path / "area" / "twice.toml"
    path.parent.mkdir()
    path.write_text(CASE.replace("AFTER", after).replace("END", end), encoding="utf-8")
    (case,) = load(path, tmp_path)
    return case


def _ended(case: Case, backend: _Recorder) -> Record:
    item = expand(case, ("cpu:0",))[-1]
    return run_item(item, Environment(backend, "recorder", ("cpu:0",), {}))


def test_the_other_run_is_made_first_on_the_same_executable(tmp_path: Path) -> None:
    backend = _Recorder()
    assert _ended(_case(tmp_path), backend).outcome is Outcome.PASSED
    assert backend.seen == [1.0, 2.0]


def test_results_of_the_other_run_stay_what_they_were(tmp_path: Path) -> None:
    record = _ended(_case(tmp_path), _Recorder(reuses=True))

    assert record.outcome is Outcome.FAILED
    assert record.reason == "arguments: result 0 of the run before was written to"


def test_an_error_that_the_other_run_is_to_end_in_is_well(tmp_path: Path) -> None:
    case = _case(tmp_path, end='error = "broken"')
    assert _ended(case, _Recorder(refuses=True)).outcome is Outcome.PASSED


def test_a_refusal_of_the_other_run_fails_the_item(tmp_path: Path) -> None:
    record = _ended(_case(tmp_path), _Recorder(refuses=True))
    assert record.outcome is Outcome.FAILED
    assert record.reason.startswith("diagnostics: refused at run with broken")


@pytest.mark.parametrize("name", ["two", "three"])
def test_only_a_run_further_up_can_be_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(CaseError, match=f"no run before this one is named {name}"):
        _case(tmp_path, after=name)
