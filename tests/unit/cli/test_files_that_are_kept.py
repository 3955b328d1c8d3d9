"""No command writes over a program, over what it reads, or over what is no file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from reference_vm.cli.main import application
from reference_vm.program.replacing import replacing

PROGRAM = """module {
  fn @main(%a: f32[2]) -> f32[2] {
    %b = add(%a, %a)
    return %b
  }
}
"""


def invoked(*args: object) -> Result:
    return CliRunner().invoke(application(), [*map(str, args)])


def said(result: Result) -> str:
    return " ".join(result.output.replace("│", " ").split())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "program.hir"
    path.write_text(PROGRAM)
    return path


def test_compile_does_not_write_over_its_source(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link.rvm").symlink_to(source)
    (tmp_path / "same.rvm").hardlink_to(source)

    for output in (source, tmp_path / "link.rvm", tmp_path / "same.rvm"):
        result = invoked("compile", source, "-o", output)
        assert result.exit_code == 2
        assert "it is what this command reads; name another file" in said(result)

    assert source.read_text() == PROGRAM


@pytest.mark.parametrize("name", ["other.hir", "other.onnx", "OTHER.ONNX"])
def test_a_compiled_program_has_no_name_of_a_source(
    source: Path, tmp_path: Path, name: str
) -> None:
    result = invoked("compile", source, "-o", tmp_path / name)

    assert result.exit_code == 2
    assert "is how programs end; name another file, as" in said(result)
    assert not (tmp_path / name).exists()


def test_compile_replaces_compiled_programs_only(source: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", a=np.ones(2))
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "empty").touch()
    kept = {p: p.read_bytes() for p in (tmp_path / "data.npz", tmp_path / "notes.txt")}

    for path, content in kept.items():
        result = invoked("compile", source, "-o", path)
        assert result.exit_code == 2
        assert "is no compiled program, which alone is replaced" in said(result)
        assert path.read_bytes() == content
    for _ in range(2):
        assert invoked("compile", source, "-o", tmp_path / "empty").exit_code == 0


def test_what_is_no_file_is_not_replaced(source: Path, tmp_path: Path) -> None:
    assert "it is no file, but a device" in said(invoked("compile", source, "-o", "/dev/null"))
    assert "it is a folder; name a file in it" in said(invoked("compile", source, "-o", tmp_path))
    with pytest.raises(OSError, match="is no file"), replacing(Path("/dev/null")):
        pass
    assert Path("/dev/null").is_char_device()


def test_run_and_explain_do_not_write_over_what_they_read(source: Path, tmp_path: Path) -> None:
    args = tmp_path / "args.npz"
    np.savez(args, a=np.ones(2, "f4"))
    before = args.read_bytes()

    for result in (
        invoked("run", source, "--args", args, "--out", args),
        invoked("explain", source, "--svg", source),
        invoked("explain", source, "--dot", source),
    ):
        assert result.exit_code == 2
        assert "it is what this command reads" in said(result)

    assert source.read_text() == PROGRAM
    assert args.read_bytes() == before


def test_a_file_that_could_not_be_written_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before")

    def half() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()

    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_results_that_cannot_be_written_are_refused_before_the_run(
    source: Path, tmp_path: Path
) -> None:
    """Nothing is run for nothing: the program's argument is missing too, which is not reached."""
    result = invoked("run", source, "--args", tmp_path / "missing.npz", "--out", "out.txt")

    assert "expected a name that ends in .npz or .npy" in said(result)


def test_sources_and_compiled_programs_are_told_apart(source: Path, tmp_path: Path) -> None:
    compiled = tmp_path / "program.rvm"
    assert invoked("compile", source, "-o", compiled).exit_code == 0
    renamed = tmp_path / "renamed.hir"
    renamed.write_bytes(compiled.read_bytes())

    for command in (["compile", "-o", tmp_path / "b.rvm"], ["explain"], ["opt"]):
        result = invoked(*command, compiled)
        assert result.exit_code == 2
        assert "is compiled already, expected a program as text" in said(result)
        assert "run it: reference-vm run" in said(result)
    assert invoked("run", renamed).exit_code == 0
    late = invoked("run", compiled, "--split", "halves")
    assert "leave --split out, or compile the source anew with it" in said(late)
    early = invoked("disassemble", source)
    assert "reference-vm compile model.hir -o model.rvm" in str(early.exception)
    assert "there is no such file" in said(invoked("disassemble", tmp_path / "missing"))


def test_passes_are_shown_of_models_too(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    info = helper.make_tensor_value_info
    x, y = info("x", onnx.TensorProto.FLOAT, [2]), info("y", onnx.TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")

    result = invoked("opt", tmp_path / "m.onnx", "--pipeline", "infer-types")

    assert "exp(%x)" in result.stdout
