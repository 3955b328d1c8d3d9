"""What the cost model says, and how it is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reference_vm as rv
from reference_vm.analysis.work import Work, work_of
from reference_vm.devices.sim import CostModel as Clock
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline
from reference_vm.passes.catalog import simplifying
from reference_vm.passes.context import PassContext
from reference_vm.passes.cost_model import CostModel, read
from reference_vm.types import DeviceName

HOST, SIM, OTHER = DeviceName("cpu", 0), DeviceName("sim", 0), DeviceName("sim", 1)
WORK = Work(operations=1_000_000, bytes=64_000)


def test_sim_costs_what_its_virtual_clock_charges() -> None:
    clock, model = Clock(), CostModel()

    charged = clock.launch_ns + WORK.bytes / clock.bytes_per_ns
    assert model.operator(SIM, None, "matmul", WORK) == charged * 1000
    charged = clock.copy_ns + 64 / clock.bytes_per_ns
    assert model.transfer(HOST, SIM, 64) == charged * 1000


def test_other_devices_exchange_data_through_the_host() -> None:
    model = CostModel()

    through = model.transfer(SIM, HOST, 64) + model.transfer(HOST, OTHER, 64)
    assert model.transfer(SIM, OTHER, 64) == through
    assert model.transfer(SIM, SIM, 64) == 0


def test_a_measured_value_counts_before_a_measured_operator_and_both_before_the_model() -> None:
    model = read('{"operators": {"sim": {"main/%t": 7, "matmul": 11}}}', "costs.json")

    assert model.operator(SIM, "main/%t", "matmul", WORK) == 7_000
    assert model.operator(SIM, "main/%u", "matmul", WORK) == 11_000
    assert model.operator(HOST, "main/%t", "add", WORK) > 11_000


def test_the_longest_name_of_a_device_counts() -> None:
    slow = {"launch_ns": 9, "bytes_per_ns": 64_000}
    model = read(json.dumps({"devices": {"sim.timed": slow, "sim:1": slow}}), "costs.json")

    assert model.operator(DeviceName("sim", 3, "timed"), None, "add", WORK) == 10_000
    assert model.operator(OTHER, None, "add", WORK) == 10_000
    assert model.operator(SIM, None, "add", WORK) == CostModel().operator(SIM, None, "add", WORK)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "found no object"),
        ("{", "Expecting"),
        ('{"speed": {}}', "found speed, expected devices, links, operators"),
        ('{"devices": {"cpu": {"launch_ns": 1}}}', "bytes_per_ns"),
        ('{"devices": {"cpu": {"launch": 1}}}', "found the key launch, expected launch_ns, "),
        ('{"devices": {"cpu": {"launch": 1}}}', "did you mean launch_ns?"),
        ('{"links": {"sim": {"latency_ns": 1}}}', "found no bytes_per_ns, expected latency_ns, "),
        ('{"devices": {"cpu": 1}}', "found 1 for cpu, expected an object"),
        ('{"links": [1]}', "found [1] for links, expected an object"),
        ('{"links": {"sim": {"latency_ns": -1, "bytes_per_ns": 1}}}', "latency_ns is -1"),
        ('{"links": {"sim": {"latency_ns": 1, "bytes_per_ns": 0}}}', "bytes_per_ns is 0"),
        ('{"operators": {"sim": {"add": true}}}', "add is True"),
        ('{"operators": {"sim": [1]}}', "found [1] for sim, expected an object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"operators": {"sim": {"add": NaN}}}', "add is nan"),
        ('{"operators": {"sim": {"add": 1e400}}}', "add is inf"),
        (f'{{"operators": {{"sim": {{"add": {"1" * 5000}}}}}}}', "digits"),
    ],
)
def test_what_is_no_model_is_refused(text: str, said: str) -> None:
    with pytest.raises(rv.CompileError) as caught:
        read(text, "costs.json")

    assert caught.value.diagnostics[0].code == "cost-model"
    assert said in str(caught.value)


def test_a_file_of_costs_is_read(tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    file.write_text('{"operators": {"sim:0": {"add": 1}}}')
    text = (
        "module {\n  vdevice @host, @accel\n  fn @main(%a: f32[4] @accel) -> f32[4] @accel {\n"
        "    %x = add(%a, %a)\n    return %x\n  }\n}\n"
    )
    plan = rv.explain(rv.parse(text), "host=cpu:0,accel=sim:0", place="auto", costs=file)

    assert "exact (minimum cut)" in plan.functions[0].notes["placement_auto"]
    with pytest.raises(rv.CompileError, match="cost-model"):
        rv.explain(rv.parse(text), "host=cpu:0,accel=sim:0", place="auto", costs=tmp_path / "no")


@pytest.mark.parametrize(
    ("call", "work"),
    [
        ("matmul(%a, %b)", Work(2 * 4 * 8 * 16, 4 * (4 * 8 + 8 * 16 + 4 * 16))),
        ("sum(%a, axis = [0])", Work(32, 4 * (32 + 8))),
        ("exp(%a)", Work(32, 4 * 64)),
        ("conv(%c, %d)", Work(2 * 5 * 6 * 6 * (3 * 3 * 3), 4 * (3 * 64 + 5 * 27 + 5 * 36))),
    ],
)
def test_work_is_counted_from_shapes(call: str, work: Work) -> None:
    text = (
        "module {\n  fn @main(%a: f32[4, 8], %b: f32[8, 16], %c: f32[1, 3, 8, 8], "
        f"%d: f32[5, 3, 3, 3]) -> f32[...] {{\n    %x = {call}\n    return %x\n  }}\n}}\n"
    )
    module = pipeline.run(rv.parse(text), simplifying(), PassContext(OPS))
    (binding,) = module.by_name["main"].body.bindings()

    assert work_of(binding, OPS[call.partition("(")[0]], {}, ()) == work
