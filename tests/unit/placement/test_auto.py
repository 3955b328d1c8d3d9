"""Placement by cost: what it keeps, what it says, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import reference_vm as rv
from reference_vm.cli.main import application
from reference_vm.passes.cost_model import CostModel, DeviceCost, LinkCost

MAP = "host=cpu:0,accel=sim:0"
CHAIN = """module {
  vdevice @host, @accel
  fn @main(%a: f32[64, 64]) -> f32[64, 64] {
    %x = matmul(%a, %a)
    %y = matmul(%x, %x)
    %z = matmul(%y, %y)
    return %z
  }
}
"""
FAST = CostModel(
    {"cpu": DeviceCost(1000, 0.01, 1), "sim": DeviceCost(1, None, 1000)},
    {"sim": LinkCost(1, 1000)},
)


def note(text: str, where: str = MAP, **options: object) -> str:
    plan = rv.explain(rv.parse(text), where, place="auto", **options)  # type: ignore[arg-type]
    return plan.functions[0].notes["placement_auto"]


def devices(text: str, where: str = MAP, **options: object) -> dict[str, str]:
    plan = rv.explain(rv.parse(text), where, place="auto", **options)  # type: ignore[arg-type]
    return {r.name.removeprefix("main/%"): r.device.role for r in plan.functions[0].residences}


def test_work_goes_where_it_is_cheap() -> None:
    assert devices(CHAIN, costs=FAST) == {"a": "accel", "x": "accel", "y": "accel", "z": "accel"}


def test_the_program_s_own_requests_and_those_of_options_are_kept() -> None:
    text = CHAIN.replace("matmul(%x, %x)", "matmul(%x, %x) @host")

    assert devices(text, costs=FAST)["y"] == "host"
    plan = rv.explain(rv.parse(CHAIN), MAP, place=["y=host", "auto"], costs=FAST)
    found = {r.name: (r.device.role, r.why.text) for r in plan.functions[0].residences}
    assert found["main/%y"] == ("host", "requested by --place: @host")
    assert found["main/%z"] == ("accel", "requested by --place=auto: @accel")


def test_it_says_whether_the_plan_is_proven_cheapest() -> None:
    assert note(CHAIN).startswith("exact (minimum cut): ")
    three = note(CHAIN, "host=cpu:0,accel=sim:0,other=sim:1")
    assert three.startswith("heuristic, not proven cheapest (cuts between pairs of devices): ")
    assert "all on @host" in three
    assert "all on @other" in three


def test_a_device_that_lacks_an_element_type_gets_none_of_it() -> None:
    text = CHAIN.replace("f32", "f64")
    where = "host=cpu:0,accel=sim.no-f64:0"

    assert set(devices(text, where, costs=FAST).values()) == {"host"}
    rv.compile(rv.parse(text), where, place="auto", costs=FAST)


def test_a_budget_is_kept_and_the_note_says_that_it_decided() -> None:
    assert set(devices(CHAIN, costs=FAST, memory="accel=16KiB").values()) == {"host"}
    assert "(memory budget)" in note(CHAIN, costs=FAST, memory="accel=16KiB")
    assert set(devices(CHAIN, costs=FAST, memory={"accel": 1 << 20}).values()) == {"accel"}


def test_the_limit_of_a_device_is_a_budget() -> None:
    where = "host=cpu:0,accel=sim.tiny-memory:0"
    x = np.full((64, 64), 0.01, np.float32)
    session = rv.Session(rv.compile(rv.parse(CHAIN), where, place="auto", costs=FAST))

    session.run("main", x)
    assert {r.device for r in session.trace if r.kind in ("kernel", "library")} == {"cpu:0"}


def test_a_budget_that_requests_break_is_named_with_the_operator() -> None:
    text = CHAIN.replace("matmul(%y, %y)", "matmul(%y, %y) @accel")
    with pytest.raises(rv.CompileError) as caught:
        rv.explain(rv.parse(text), MAP, place="auto", memory="accel=20KiB")

    (found,) = caught.value.diagnostics
    assert found.code == "memory-budget"
    assert "@accel may hold 20,480 bytes and would hold 32,768 at %z" in found.message
    assert found.span is not None
    assert found.span.line == 6


def test_without_anything_to_choose_the_refusal_is_proven() -> None:
    text = CHAIN.replace(")\n", ") @accel\n")
    with pytest.raises(rv.CompileError, match="the placement breaks a memory budget"):
        rv.explain(rv.parse(text), MAP, place="auto", memory="accel=20KiB")


@pytest.mark.parametrize(
    ("memory", "code"),
    [("accel", "memory-size"), ("accel=12Q", "memory-size"), ("gpu=1", "unknown-vdevice")],
)
def test_a_budget_in_another_form_is_refused(memory: str, code: str) -> None:
    with pytest.raises(rv.CompileError) as caught:
        rv.explain(rv.parse(CHAIN), MAP, place="auto", memory=memory)

    assert caught.value.diagnostics[0].code == code


def test_a_program_with_nothing_to_place_is_left_alone() -> None:
    text = "module {\n  fn @main(%a: f32[4]) -> f32[4] {\n    return %a\n  }\n}\n"

    assert note(text, "host=cpu:0").startswith("exact (nothing to choose)")


def test_both_commands_place_by_cost(tmp_path: Path) -> None:
    file, costs = tmp_path / "chain.hir", tmp_path / "costs.json"
    file.write_text(CHAIN)
    costs.write_text('{"operators": {"cpu": {"matmul": 1e9}}}')
    options = [str(file), "--device-map", MAP, "--place", "auto", "--costs", str(costs)]
    explained = CliRunner().invoke(application(), ["explain", *options, "--memory", "accel=1MiB"])
    run = CliRunner().invoke(application(), ["run", *options])

    assert "placement auto: exact (minimum cut)" in explained.stdout
    assert "requested by --place=auto: @accel" in explained.stdout
    assert "kernels on sim:0: 3" in run.stdout
