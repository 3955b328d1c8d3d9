"""``reference-vm explain`` prints tables or JSON, and writes graphs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from reference_vm.cli.main import application

PROGRAM = """module {
  vdevice @host, @accel
  fn @main(%a: f32[n], %b: f32[n], %c: f32[n]) -> f32[n] @host {
    %s = add(%a, %b)       @host
    %t = add(%b, %c)       @accel
    %d = subtract(%s, %t)  @host
    return %d
  }
}
"""
MAP = "host=cpu:0,accel=sim:0"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.hir"
    path.write_text(PROGRAM)
    return path


def invoked(*args: object) -> Result:
    return CliRunner().invoke(application(), ["explain", *map(str, args)])


def test_the_tables_say_what_is_copied_and_why(file: Path) -> None:
    result = invoked(file, "--device-map", MAP, "--size", "n=2")

    assert result.exit_code == 0
    assert "fn @main: 3 operators, 2 copies of 16 B, 1 argument brought" in result.stdout
    assert "1 request" in result.stdout


def test_json_holds_all_that_is_known(file: Path) -> None:
    found = json.loads(invoked(file, "--device-map", MAP, "--json").stdout)

    assert found["devices"] == {"host": "cpu:0", "accel": "sim:0"}
    (function,) = found["functions"]
    values = {r["name"]: r for r in function["residences"]}
    assert values["main/%t"]["rule"] == {"name": "request", "number": 1}
    copies = {(t["name"], t["target"]): t for t in function["transfers"]}
    assert copies["main/%b", "accel"]["read"]["line"] == 5
    assert copies["main/%t", "host"]["made"] == {"text": "made on @accel by add", "line": 5}


def test_graphs_are_written_and_nothing_is_printed(file: Path, tmp_path: Path) -> None:
    picture, graph = tmp_path / "plan.svg", tmp_path / "plan.dot"
    result = invoked(file, "--device-map", MAP, "--svg", picture, "--dot", graph)

    assert (result.exit_code, result.stdout) == (0, "")
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert graph.read_text().startswith('digraph "main" {')


def test_a_folder_that_is_not_there_is_wrong_usage(file: Path, tmp_path: Path) -> None:
    missing = tmp_path / "none" / "plan.svg"

    assert invoked(file, "--device-map", MAP, "--svg", missing).exit_code == 2
