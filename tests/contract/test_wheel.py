"""The wheel holds what an installation needs, types included, and works outside of a checkout."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.plugin.test_readme import BLOCKS

ROOT: Final = Path(__file__).parents[2]
SAMPLE: Final = """
import numpy as np

import hettest
import reference_vm as rv

PROGRAM = "module { fn @main(%a: f32[4]) -> f32[4] { %b = exp(%a) return %b } }"


def test_devices(
    device: hettest.Device,
    accelerator: hettest.Device,
    device_pair: hettest.DevicePair,
    device_map: hettest.DeviceMap,
) -> None:
    host, accel = device_pair
    assert (device.get(device.put(np.ones(4, np.float32))) == 1).all()
    assert device_map["accel"] == accel.name == str(accelerator) and host.kind == "cpu"


def test_program(het: hettest.Het, device_pair: hettest.DevicePair) -> None:
    report = het.check(PROGRAM, (np.ones(4, np.float32),), on=device_pair)
    checked: hettest.Report = report
    copies: int = checked.copies
    assert copies == 0


def test_worth(het_benchmark: hettest.PairedBenchmark, het_golden: hettest.Golden) -> None:
    paired: hettest.Paired = het_benchmark(PROGRAM, (np.ones(4, np.float32),))
    assert paired.verdict != "slower"
    het_golden.check(PROGRAM)


def test_case(het_case: hettest.Item) -> None:
    assert het_case.devices


def test_reference() -> None:
    program: rv.Program = rv.compile(rv.parse(PROGRAM), "host=cpu:0")
    assert rv.Session(program).run("main", np.ones(4, np.float32)) is not None
"""
WRONG: Final = """
import hettest


def test_it(het: hettest.Het, device: hettest.Device) -> None:
    device.fetch(1)
    copies: str = het.check("", (), on=[]).copies
"""


def done(*command: str | Path, cwd: Path) -> str:
    """Return what a command printed, which must end well."""
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    done(
        *pip, "--isolated", "--no-index", "--no-cache-dir", "--wheel-dir", folder, ROOT, cwd=folder
    )
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, which finds the packages of this one, and not the checkout."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True, with_pip=False)
    found = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", found, "install", "--quiet", "--no-deps")
    done(*pip, "--isolated", "--no-index", "--no-cache-dir", wheel, cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return found


def test_it_holds_every_file_of_the_packages_and_what_they_read(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    tracked = done("git", "ls-files", "hettest", "reference_vm", cwd=ROOT).split("\n")
    assert set(filter(None, tracked)) - names == set()
    for folder, place in (("cases", "hettest/_cases"), ("docs/reference", "hettest/_docs")):
        files = [p for p in (ROOT / folder).rglob("*") if p.is_file()]
        assert {f"{place}/{p.relative_to(ROOT / folder)}" for p in files} - names == set()
    assert {"hettest/py.typed", "reference_vm/py.typed"} <= names


def test_it_works_outside_of_the_checkout(python: Path, tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(BLOCKS[0])
    where = "import hettest, reference_vm as r; print(hettest.__file__, r.__file__)"

    for file in done(python, "-c", where, cwd=tmp_path).split():
        assert Path(file).is_relative_to(python.parents[1])
    kit = python.with_name("hettest")
    explained = done(kit, "explain", "copies.operands", cwd=tmp_path)
    assert explained.startswith("copies.operands: ")
    listed = done(kit, "list", "--devices=cpu,sim", cwd=tmp_path)
    assert listed == (ROOT / "cases/expected-cpu-sim.txt").read_text()
    printed = done(
        python,
        "-m",
        "pytest",
        "test_mine.py",
        "--devices=cpu,sim",
        "-pno:cacheprovider",
        cwd=tmp_path,
    )
    assert "2 passed" in printed


def strict(python: Path, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_sample.py").write_text(text)
    (folder / "mypy.ini").write_text("[mypy]\n")
    command = ("-m", "mypy", "--strict", "--python-executable", python, "test_sample.py")
    return subprocess.run(
        (sys.executable, *command), cwd=folder, capture_output=True, text=True, timeout=300
    )


def test_a_users_annotations_are_checked_strictly(python: Path, tmp_path: Path) -> None:
    ended = strict(python, tmp_path, SAMPLE)

    assert ended.returncode == 0, ended.stdout


def test_wrong_use_is_found_by_them(python: Path, tmp_path: Path) -> None:
    ended = strict(python, tmp_path, WRONG)

    assert '"Device" has no attribute "fetch"' in ended.stdout
    assert 'expression has type "int", variable has type "str"' in ended.stdout
    assert "Found 2 errors" in ended.stdout


def test_an_extra_is_added_without_the_kit_being_fetched(python: Path, tmp_path: Path) -> None:
    """Hints such as ``pip install 'hettest[report]'`` name what is installed already."""
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-index",
        "--dry-run",
        "--isolated",
    )

    printed = done(*pip, "--no-cache-dir", "hettest[report,onnx,numba]", cwd=tmp_path)

    assert (
        f"Requirement already satisfied: hettest[numba,onnx,report] in {python.parents[1]}"
        in printed
    )
