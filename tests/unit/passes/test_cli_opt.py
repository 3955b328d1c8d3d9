"""``reference-vm opt``: what it prints, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from reference_vm.cli import main as cli

PROGRAM = """module {
  vdevice @host, @accel
  fn @main(%x: f32[4]) -> f32[4] @host {
    %y = exp(%x) @accel
    return %y
  }
}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.hir"
    path.write_text(PROGRAM)
    return path


def test_it_prints_the_module_after_the_passes(file: Path) -> None:
    result = CliRunner().invoke(
        cli.application(),
        ["opt", "--pipeline=bind-vdevices,infer-types", "--device-map=accel=sim:0", str(file)],
    )

    assert result.exit_code == 0
    assert result.output == PROGRAM.replace(
        "@host, @accel", '@host = "cpu:0", @accel = "sim:0"'
    ).replace("%y =", "%y: f32[4] =")


def test_without_passes_it_runs_those_of_the_compiler(file: Path) -> None:
    result = CliRunner().invoke(
        cli.application(), ["opt", "--device-map=accel=sim:0", "--check", str(file)]
    )

    assert "%y.host: f32[4] @host = device_copy(%y" in result.output


def test_passes_know_the_kernels_of_the_devices(tmp_path: Path) -> None:
    path = tmp_path / "constants.hir"
    path.write_text("""module { fn @main(%x: f32[2]) -> f32[2] {
      %k = const f32[2] [0.0, 0.0]
      %c = cos(%k)
      %y = multiply(%x, %c)
      %z = exp(%y)
      return %z
    } }""")
    names = "bind-vdevices,infer-types,plan-devices,insert-copies,legalize,precompute,fuse"

    result = CliRunner().invoke(cli.application(), ["opt", f"--pipeline={names}", str(path)])

    assert "%c: f32[2] @host = const f32[2] [1.0, 1.0]" in result.output
    assert "@fused_multiply_exp(%x, %c" in result.output


def test_a_program_at_fault_ends_with_1(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["reference-vm", "opt", str(file)])

    with pytest.raises(SystemExit) as stopped:
        cli.main()

    assert stopped.value.code == 1
    assert "error[unbound-role]: role @accel has no device" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--pipeline=nonsense"], ["--device-map=accel"], ["--policy=guess"]]
)
def test_wrong_usage_ends_with_2(file: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(cli.application(), ["opt", *arguments, str(file)])

    assert result.exit_code == 2


def test_a_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.application(), ["opt", str(tmp_path / "missing.hir")])

    assert result.exit_code == 2
