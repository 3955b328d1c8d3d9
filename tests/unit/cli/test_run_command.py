"""``reference-vm run`` prints results, kernels by device and transfers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from reference_vm.cli.main import application
from reference_vm.diagnostics import DiagnosticError

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
    return CliRunner().invoke(application(), ["run", *map(str, args)])


def test_results_kernels_and_transfers_are_printed(file: Path) -> None:
    result = invoked(file, "--device-map", MAP, "--size", "n=2")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "result: float32[2]"
    assert "kernels on sim:0: 1" in lines
    assert "transfers: 3, 24 bytes" in lines
    assert any("main/%b: cpu:0 -> sim:0, 8 bytes (read for main/%t)" in line for line in lines)


def test_arguments_are_read_from_a_file(file: Path, tmp_path: Path) -> None:
    a, b, c = (np.full(3, v, np.float32) for v in (1, 10, 5))
    np.savez(tmp_path / "args.npz", a=a, b=b, c=c)
    result = invoked(file, "--device-map", MAP, "--args", tmp_path / "args.npz", "--json")
    found = json.loads(result.stdout)
    assert found["results"] == {"dtype": "float32", "shape": [3], "data": [-4.0, -4.0, -4.0]}
    assert [r["index"] for r in found["trace"]] == list(range(len(found["trace"])))


def test_a_missing_argument_is_named(file: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "args.npz", a=np.ones(3, np.float32))
    result = invoked(file, "--device-map", MAP, "--args", tmp_path / "args.npz")
    assert isinstance(result.exception, DiagnosticError)
    assert "found arguments for a, expected a, b, c" in str(result.exception)


def test_a_program_at_fault_is_a_diagnostic(file: Path) -> None:
    result = invoked(file)
    assert isinstance(result.exception, DiagnosticError)
    assert result.exception.diagnostics[0].code == "unbound-role"


@pytest.mark.parametrize(
    "options",
    [("--args", "missing.npz"), ("--size", "n"), ("--policy", "move")],
    ids=["no file", "no size", "no policy"],
)
def test_wrong_usage_ends_with_exit_code_2(file: Path, options: tuple[str, str]) -> None:
    assert invoked(file, "--device-map", MAP, *options).exit_code == 2
