"""Without any extra, as ``pip install hettest`` leaves it, programs run and the kit says what more
there is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.plugin.test_readme import BLOCKS

HIDE = """
import sys
from importlib.machinery import PathFinder

HIDDEN = {"llvmlite", "numba", "scipy", "onnx", "onnxruntime", "jax", "tvm", "cupy"}

class Plain(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            return None
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Plain
"""
PROGRAM = BLOCKS[0].partition('"""')[2].partition('"""')[0]
MAP = "host=cpu:0,accel=sim:0"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder with a program, in which Python finds no optional package."""
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    (tmp_path / "program.hir").write_text(PROGRAM)
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "test_mine.py").write_text(BLOCKS[0])
    return tmp_path


def ran(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    scripts = sysconfig.get_path("scripts")
    return subprocess.run(
        [sys.executable, Path(scripts) / command[0], *command[1:]],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_program_compiles_and_runs(plain: Path) -> None:
    done = ran(plain, "reference-vm", "run", "program.hir", "--device-map", MAP)

    assert done.returncode == 0, done.stderr
    assert "kernels on sim:0: 1" in done.stdout


def test_the_first_test_passes(plain: Path) -> None:
    done = ran(plain, "pytest", "test_mine.py", "--devices=cpu,sim", "-p", "no:cacheprovider")

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_doctor_says_who_runs_the_kernels_and_what_to_install(plain: Path) -> None:
    done = ran(plain, "hettest", "doctor")

    assert done.returncode == 0, done.stderr
    assert "kernels run in NumPy" in done.stdout
    assert "pip install 'hettest[numba]'" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [(("model.onnx",), "onnx"), (("program.hir", "--executor", "numba"), "numba")],
    ids=["onnx", "numba"],
)
def test_what_needs_an_extra_names_it(plain: Path, arguments: tuple[str, ...], extra: str) -> None:
    done = ran(plain, "reference-vm", "run", *arguments, "--device-map", MAP)

    assert done.returncode == 1
    assert done.stderr.startswith("error[missing-package]: ")
    assert f"pip install 'hettest[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
