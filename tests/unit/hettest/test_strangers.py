"""Who shows nothing but results is judged as sharply: half precision fails, another order passes.

The setting is one and the same, no bound is loosened, and there is one device or a pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hettest.case.expansion import expand
from hettest.outcome import Outcome, Record, Status
from hettest.runner import run_item
from hettest.runner.run import Environment
from tests.unit.hettest.case.written import load_text
from tests.unit.hettest.fake_backend import Backend, Fault
from tests.unit.hettest.summing import AS_GOOD, IN_HALF, Compute

HEAD = 'format = 1\nsummary = "a long sum"\nlevel = 2\nclauses = ["numerics.accumulation"]\n'

SUM = """
module {
  vdevice @accel
  fn @main(%x: DTYPE[1024, 8]) -> DTYPE[8] {
    %r = sum(%x, axis = [0]) @accel
    return %r
  }
}
"""

MATMUL = """
module {
  vdevice @accel
  fn @main(%x: DTYPE[4, 512]) -> DTYPE[4, 4] {
    %t = permute_dims(%x, axes = [1, 0]) @accel
    %r = matmul(%x, %t) @accel
    return %r
  }
}
"""

LOST = """
module {
  vdevice @accel
  fn @main(%x: DTYPE[4]) -> DTYPE[4] {
    %big = const DTYPE[] 100000000.0
    %s = add(%x, %big) @accel
    %r = subtract(%s, %big) @accel
    return %r
  }
}
"""
"""What is left of the argument is less than what rounding may take."""

CASES = {
    "sum": (SUM, "[1024, 8]", "0.0"),
    "cancelling sum": (SUM, "[1024, 8]", "-1.0"),
    "matmul": (MATMUL, "[4, 512]", "0.0"),
    "lost": (LOST, "[4]", "0.0"),
}


def ended(
    folder: Path, kind: str, dtype: str, devices: tuple[str, ...], computes: Mapping[str, Compute]
) -> Record:
    program, shape, low = CASES[kind]
    random = f"random = {{ seed = 7, low = {low}, high = 1.0 }}"
    content = (
        f"{HEAD}program = '''{program.replace('DTYPE', dtype)}'''\n[[run]]\nname = \"plain\"\n"
        f'args.x = {{ dtype = "{dtype}", shape = {shape}, {random} }}\nresult = "oracle"\n'
    )
    (case,) = load_text(folder, content)
    item = expand(case, devices)[-1]
    backend = Backend(Fault.NO_OBSERVATION, computes=computes)
    return run_item(item, Environment(backend, "fake", devices, {}))


@pytest.mark.parametrize("devices", [("cpu:0",), ("cpu:0", "sim:0")], ids=str)
@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("order", AS_GOOD)
@pytest.mark.parametrize("kind", ["sum", "cancelling sum", "matmul"])
def test_a_sum_in_another_order_passes(
    tmp_path: Path, kind: str, order: str, dtype: str, devices: tuple[str, ...]
) -> None:
    record = ended(tmp_path, kind, dtype, devices, AS_GOOD[order])

    assert record.outcome is Outcome.PASSED, record.text


@pytest.mark.parametrize("devices", [("cpu:0",), ("cpu:0", "sim:0")], ids=str)
@pytest.mark.parametrize("order", ["in_order", "reversed_order", "blocked"])
@pytest.mark.parametrize("kind", ["sum", "matmul"])
def test_a_sum_of_halves_in_half_precision_fails(
    tmp_path: Path, kind: str, order: str, devices: tuple[str, ...]
) -> None:
    record = ended(tmp_path, kind, "f16", devices, IN_HALF[order])

    assert record.outcome is Outcome.FAILED
    assert record.reason.startswith(("values: bound: error", "values: anchor: error"))


@pytest.mark.parametrize("devices", [("cpu:0",), ("cpu:0", "sim:0")], ids=str)
def test_where_any_result_would_hold_nothing_is_proven(
    tmp_path: Path, devices: tuple[str, ...]
) -> None:
    def anything(xp: Any, x: Any, y: Any) -> Any:
        return x * 0

    record = ended(tmp_path, "lost", "f32", devices, {"subtract": anything})

    assert record.outcome is Outcome.UNSUPPORTED, record.text
    assert record.reason == "not claimed: observe:intermediates"
    values = record.clauses[0]
    assert values.status is Status.UNPROVEN
    assert values.detail.startswith("no check can tell a wrong result: ")
    assert {m.name: m.status for m in values.measures}["anchor"] == "vacuous"
