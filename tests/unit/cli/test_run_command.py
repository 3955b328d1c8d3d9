"""``reference-vm run`` prints results, kernels by device and transfers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from reference_vm.cli import programs
from reference_vm.cli.main import application
from reference_vm.diagnostics import DiagnosticError
from reference_vm.session import Session

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
LOOP = """module {
  fn @main(%n: i64[]) -> i64[] {
    %zero = const i64[] 0
    %one = const i64[] 1
    %more = greater(%n, %zero)
    %r = if %more { %m = subtract(%n, %one) %q = @main(%m) yield %q } else { yield %n }
    return %r
  }
}
"""


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
    assert "memory on sim:0: 16 bytes at most, 16 live at once" in lines
    assert "transfers: 3, 24 bytes" in lines
    assert any("main/%b: cpu:0 -> sim:0, 8 bytes (read for main/%t)" in line for line in lines)


def test_arguments_are_read_from_a_file(file: Path, tmp_path: Path) -> None:
    a, b, c = (np.full(3, v, np.float32) for v in (1, 10, 5))
    np.savez(tmp_path / "args.npz", a=a, b=b, c=c)
    result = invoked(
        file, "--device-map", MAP, "--args", tmp_path / "args.npz", "--json", "--trace"
    )
    found = json.loads(result.stdout)
    assert found["results"] == {"dtype": "float32", "shape": [3], "data": [-4.0, -4.0, -4.0]}
    assert [r["index"] for r in found["trace"]] == list(range(len(found["trace"])))


def test_json_has_records_only_when_they_are_asked_for(file: Path) -> None:
    found = json.loads(invoked(file, "--device-map", MAP, "--size", "n=2", "--json").stdout)

    assert set(found) == {"results", "kernels", "memory"}
    assert found["kernels"] == {"cpu:0": 1, "sim:0": 1}
    assert found["memory"]["sim:0"] == {"peak": 16}


def test_no_records_are_made_of_a_long_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "loop.hir"
    path.write_text(LOOP)
    np.save(tmp_path / "n.npy", np.int64(300_000))
    monkeypatch.setattr(Session, "trace", None)  # whoever asks for it fails

    result = invoked(path, "--args", tmp_path / "n.npy")

    assert result.exit_code == 0
    kernels = re.search(r"kernels on cpu:0: (\d+)", result.stdout)
    assert kernels is not None
    assert int(kernels[1]) > 300_000
    assert "transfers: not listed of so long a run; --trace lists every record" in result.stdout


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
    [
        ("--args", "missing.npz"),
        ("--size", "n"),
        ("--size", "n=³"),
        ("--size", "n=-1"),
        ("--size", "=3"),
        ("--size", "zz=3"),
        ("--size", f"n={'9' * 30}"),
        ("--policy", "move"),
        ("--seed", "-1"),
    ],
    ids=str,
)
def test_wrong_usage_ends_with_exit_code_2(file: Path, options: tuple[str, str]) -> None:
    result = invoked(file, "--device-map", MAP, *options)
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)


def test_a_size_is_of_a_symbol_of_the_program(file: Path) -> None:
    for command in ("run", "explain"):
        result = CliRunner().invoke(
            application(), [command, str(file), "--device-map", MAP, "--size", "zz=3"]
        )
        assert result.exit_code == 2
        assert "zz is no symbol of the program" in result.output


@pytest.mark.parametrize("kind", ["npy", "empty", "text", "objects", "cut", "folder", "fifo"])
def test_what_is_no_file_of_arguments_is_wrong_usage(
    file: Path, tmp_path: Path, kind: str, recwarn: pytest.WarningsRecorder
) -> None:
    path = tmp_path / "args.npz"
    match kind:
        case "npy":
            with path.open("wb") as out:
                np.save(out, np.ones(3))
        case "empty":
            path.touch()
        case "text":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("a.txt", "text")
        case "objects":
            np.savez(path, a=np.array([object()]), b=np.ones(3), c=np.ones(3))
        case "cut":
            np.savez(path, a=np.ones(3), b=np.ones(3), c=np.ones(3))
            data = bytearray(path.read_bytes())
            data[60:200] = bytes(140)
            path.write_bytes(data)
        case "folder":
            path.mkdir()
        case _:
            os.mkfifo(path)

    result = invoked(file, "--device-map", MAP, "--args", path)

    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert "pickle" not in result.output
    assert not recwarn.list


@pytest.mark.parametrize(
    ("type_", "size"),
    [("f32[n, 4]", "n=99999999999999"), ("f32[floordiv(8, n)]", "n=0"), ("f32[n - 5]", "n=2")],
)
def test_sizes_that_no_argument_has_are_located(tmp_path: Path, type_: str, size: str) -> None:
    path = tmp_path / "program.hir"
    path.write_text(
        f"module {{\n  fn @main(%x: {type_}, %y: f32[n]) -> f32[n] {{ return %y }}\n}}\n"
    )
    result = invoked(path, "--size", size)
    assert isinstance(result.exception, DiagnosticError)
    (found,) = result.exception.diagnostics
    assert f"%x, which is {type_}" in found.message.replace("-5 + n", "n - 5")
    assert found.span is not None


def test_half_a_character_is_no_name(file: Path) -> None:
    file.write_text(PROGRAM.replace("%t", '%"\\ud801"'))
    result = invoked(file, "--device-map", MAP)
    assert isinstance(result.exception, DiagnosticError)
    (found,) = result.exception.diagnostics
    assert (found.code, found.span.line if found.span else None) == ("syntax-error", 5)


def test_a_name_that_the_terminal_lacks_is_printed(file: Path) -> None:
    file.write_text(PROGRAM.replace("%t", '%"\\ud83d\\ude00é"'), encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from reference_vm.cli.main import main; main()"),
            *("run", file, "--device-map", MAP),
        ],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "main/%\\U0001f600\\xe9" in done.stdout


def test_a_file_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_MOST", 1000)

    result = CliRunner().invoke(application(), ["run", "/dev/zero"])

    assert result.exit_code == 2
    assert "more than 1000 bytes" in " ".join(result.output.split())


def test_a_name_that_is_too_long_is_told() -> None:
    result = CliRunner().invoke(application(), ["run", "x" * 5000])

    assert result.exit_code == 2
    assert "Filenametoolong" in re.sub(r"[│\s]", "", result.output)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux that has no room")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("args", [("opt", "program.hir"), ("--help",)])
def test_no_room_for_the_output_is_a_sentence(
    tmp_path: Path, args: tuple[str, ...], unbuffered: str
) -> None:
    (tmp_path / "program.hir").write_text(LOOP)
    code = "from reference_vm.cli.main import main; main()"

    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *args],
            cwd=tmp_path,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr == "the output cannot be written: No space left on device; make room there\n"
