"""A device map binds roles that the program has, or that an option names: others are typos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import reference_vm as rv
from reference_vm.cli.main import application

PLACED = """module {
  vdevice @accel
  fn @main(%x: f32[4]) -> f32[4] {
    %y = exp(%x) @accel
    return %y
  }
}
"""
FREE = PLACED.replace("vdevice @accel\n", "").replace(" @accel", "")


def refusal(device_map: str, **options: Any) -> str:
    with pytest.raises(rv.CompileError) as caught:
        rv.compile(rv.parse(PLACED), device_map, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("device_map", "role", "hint"),
    [
        ("acel=sim:0", "acel", "did you mean accel?"),
        ("accel=sim:0,acel=sim:1", "acel", "did you mean accel?"),
        ("accel=sim:0,hots=cpu:1", "hots", "did you mean host?"),
        ("accel=sim:0,third=sim:1", "third", "leave third out of the device map"),
    ],
)
def test_a_role_that_nothing_names_is_refused(device_map: str, role: str, hint: str) -> None:
    said = refusal(device_map)

    assert f"error[unknown-vdevice]: the device map binds @{role}, but the program has @acc" in said
    assert hint in said
    with pytest.raises(rv.CompileError, match="unknown-vdevice"):
        rv.explain(rv.parse(PLACED), device_map)


def test_each_such_role_is_named() -> None:
    said = refusal("accel=sim:0,third=sim:1,fourth=sim:2")

    assert "@third" in said
    assert "@fourth" in said


@pytest.mark.parametrize(
    "options",
    [{"default": "third"}, {"default": "@third"}, {"place": "y=third"}, {"split": "halves"}],
    ids=str,
)
def test_options_may_name_other_roles(options: dict[str, Any]) -> None:
    rv.compile(rv.parse(PLACED), "accel=sim:0,third=sim:1", **options)


def test_the_host_need_not_be_declared_and_a_program_without_roles_has_any() -> None:
    rv.compile(rv.parse(PLACED), "host=cpu:0,accel=sim:0")
    rv.compile(rv.parse(FREE), "accel=sim:0,third=sim:1")


def test_the_shell_refuses_them_too(tmp_path: Path) -> None:
    source = tmp_path / "program.hir"
    source.write_text(PLACED)

    for command in (["opt"], ["run"], ["explain"], ["compile", "-o", str(tmp_path / "a.rvm")]):
        result = CliRunner().invoke(
            application(), [*command, str(source), "--device-map", "accel=sim:0,acel=sim:0"]
        )
        assert "did you mean accel?" in str(result.exception), command
