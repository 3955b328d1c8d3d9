"""``reference-vm compile``, ``run`` and ``disassemble`` of programs in files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from reference_vm.cli.main import application
from reference_vm.diagnostics import DiagnosticError

PROGRAM = """module {
  vdevice @host, @accel
  fn @main(%a: f32[n], %b: f32[n]) -> (f32[n], f32[n]) {
    %k = const f32[100] splat 0.5
    %m = sum(%k)           @host
    %s = add(%a, %m)       @host
    %t = multiply(%s, %b)  @accel
    %r = (%s, %t)
    return %r
  }
}
"""
MAP = ("--device-map", "accel=sim:0")


def invoked(*args: object) -> Result:
    return CliRunner().invoke(application(), [*map(str, args)])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "program.hir"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def saved(text: Path, tmp_path: Path) -> Path:
    path = tmp_path / "program.rvm"
    assert invoked("compile", text, "-o", path, *MAP).exit_code == 0
    return path


def test_compile_says_what_is_in_the_file(text: Path, tmp_path: Path) -> None:
    result = invoked("compile", text, "-o", tmp_path / "a.rvm", *MAP)

    size = (tmp_path / "a.rvm").stat().st_size
    assert result.stdout.splitlines()[0] == f"{tmp_path / 'a.rvm'}: {size} bytes"
    assert "devices: cpu:0, sim:0" in result.stdout


def test_compile_as_json(text: Path, tmp_path: Path) -> None:
    found = json.loads(invoked("compile", text, "-o", tmp_path / "a.rvm", *MAP, "--json").stdout)

    assert found["entries"] == ["main"]
    assert found["devices"] == ["cpu:0", "sim:0"]
    assert found["kernels"] == 3
    assert found["constants"] == 1


def test_a_saved_program_runs_like_the_one_before(text: Path, saved: Path) -> None:
    before = json.loads(invoked("run", text, *MAP, "--size", "n=2", "--json", "--trace").stdout)
    after = json.loads(invoked("run", saved, "--size", "n=2", "--json", "--trace").stdout)

    assert after["results"] == before["results"]
    assert [r["op"] for r in after["trace"]] == [r["op"] for r in before["trace"]]


def test_run_keeps_to_a_budget_whenever_it_was_compiled(text: Path, saved: Path) -> None:
    for options in ((text, *MAP), (saved,)):
        fits = invoked("run", *options, "--size", "n=2", "--memory", "host=1KiB,accel=1KiB")
        assert fits.exit_code == 0
        small = invoked("run", *options, "--size", "n=2", "--memory", "accel=4")
        assert small.exit_code == 1
        assert "out-of-memory" in str(small.exception)


def test_choices_come_too_late_for_a_saved_program(saved: Path) -> None:
    result = invoked("run", saved, "--split", "halves")

    assert result.exit_code == 2
    assert "compiled already" in result.output


def test_results_are_written_and_arguments_read_as_arrays(saved: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([1, 2], "f4"))
    np.save(tmp_path / "b.npy", np.array([3, 4], "f4"))
    files = ("--args", tmp_path / "a.npy", "--args", tmp_path / "b.npy")

    result = invoked("run", saved, *files, "--out", tmp_path / "out.npz")

    assert result.exit_code == 0
    assert "result" not in result.stdout
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_array_equal(found["result.0"], np.array([51, 52], "f4"))
        np.testing.assert_array_equal(found["result.1"], np.array([153, 208], "f4"))


def test_arguments_are_read_from_onnx_test_data(saved: Path, tmp_path: Path) -> None:
    onnx: Any = pytest.importorskip("onnx")
    folder = tmp_path / "test_data_set_0"
    folder.mkdir()
    for number in range(2):
        tensor = onnx.numpy_helper.from_array(np.full(2, number + 1, "f4"))
        onnx.save_tensor(tensor, folder / f"input_{number}.pb")

    result = invoked("run", saved, "--args", folder, "--json")

    assert json.loads(result.stdout)["results"][1]["data"] == [102.0, 102.0]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("missing.npy",), "there is no such file"),
        (("x.npz", "x.npz"), "found 2 files, expected one .npz"),
        (("text.npy",), "the file is no array"),
        (("empty",), "found none, expected input_0.pb"),
        (("gap",), "found input_1.pb, expected input_0.pb"),
        (("bad",), "the file holds no tensor"),
    ],
)
def test_files_that_hold_no_arguments_are_wrong_usage(
    saved: Path, tmp_path: Path, files: tuple[str, ...], message: str
) -> None:
    (tmp_path / "text.npy").write_text("text")
    for folder, name in (("empty", None), ("gap", "input_1.pb"), ("bad", "input_0.pb")):
        (tmp_path / folder).mkdir()
        if name is not None:
            (tmp_path / folder / name).write_bytes(b"\xff\xff")

    result = invoked("run", saved, *(x for f in files for x in ("--args", tmp_path / f)))

    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize("name", ["out.txt", "out.npy", "missing/out.npz"])
def test_results_that_cannot_be_written_are_wrong_usage(
    saved: Path, tmp_path: Path, name: str
) -> None:
    result = invoked("run", saved, "--size", "n=2", "--out", tmp_path / name)

    assert result.exit_code == 2


def test_disassemble_prints_tables_and_instructions(saved: Path) -> None:
    lines = invoked("disassemble", saved).stdout.splitlines()

    assert lines[:2] == ["device cpu:0", "device sim:0 @accel"]
    assert "constant 0 main/%k: f32[100] on cpu:0" in lines
    assert any(line.startswith("fn @main(r0: f32[n]") for line in lines)


def test_disassemble_as_json(saved: Path) -> None:
    found = json.loads(invoked("disassemble", saved, "--json").stdout)

    with zipfile.ZipFile(saved) as archive:
        assert found == json.loads(archive.read("code.json"))


def test_what_is_no_saved_program_is_refused(text: Path) -> None:
    result = invoked("disassemble", text)

    assert isinstance(result.exception, DiagnosticError)
    assert result.exception.diagnostics[0].code == "invalid-program"
