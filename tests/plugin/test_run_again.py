"""Each line that a failure prints to run it again runs that test, and that one alone."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from tests.plugin.sessions import USUAL, forked, write

TEST = """
import pytest

@pytest.mark.parametrize("text", [{text!r}])
class TestIt:
    def test_it(self, device, text): assert False

def test_other(device): pass
"""
OTHERS_OPTION = """
def pytest_addoption(parser):
    parser.addoption("--devices", default="theirs", choices=["theirs"])
"""
TEXTS = ["plain", "with space[0]::b", 'it\'s "quoted" $HOME;*`ls`', "ünï\n", ""]
FOLDERS = [("", "checks"), ("checks", "."), ("checks/deep", ".."), ("other", "../checks")]
"""Where the user stands, and what of the suite is named from there."""


def again(output: str) -> list[str]:
    """Return the lines that follow the heading."""
    return re.findall(r"^-+ run it again -+\n(.*)$", output, re.MULTILINE)


def run(line: str, folder: Path) -> str:
    """Return what the pytest of this environment prints for a line, which a shell reads."""
    shell = f'pytest() {{ printf "%s\\0" "$PWD" "$@"; }}; {line}'
    read = subprocess.run(["sh", "-c", shell], cwd=folder, capture_output=True, check=True)
    here, *args = os.fsdecode(read.stdout).split("\0")[:-1]
    return forked(Path(here), args, {"COLUMNS": "2000"})[1]


def repeats(folder: Path, line: str, count: int = 1) -> None:
    """Find out whether each line that ``line`` prints runs one failing test."""
    first = run(line, folder)
    lines = again(first)
    assert len(lines) == count, first
    second = run(lines[-1], folder)
    assert re.search(r"^=+ 1 failed(, \d+ warnings)? in ", second, re.MULTILINE), (
        lines[-1],
        second,
    )
    assert again(second) == [lines[-1].partition(" && ")[2] or lines[-1]]


def suite(text: str = "plain") -> Mapping[str, str]:
    return {"checks/deep/test_it.py": TEST.format(text=text), "other/none": "", "checks/none": ""}


def pytest_line(*args: str) -> str:
    return shlex.join(["pytest", *USUAL, *args])


@pytest.mark.parametrize(
    ("text", "where"), [*product(TEXTS[:1], FOLDERS), *product(TEXTS, FOLDERS[3:4])]
)
def test_from_any_folder_with_any_id(tmp_path: Path, text: str, where: tuple[str, str]) -> None:
    write(tmp_path, suite(text))
    here, what = where

    repeats(tmp_path / here, pytest_line("--devices=cpu", what))


@pytest.mark.parametrize(
    "how",
    [
        ("--het-devices=cpu,sim", "--het-device-map=host=cpu,accel=sim"),
        ("--devices=cpu,sim", "--het-policy=fail", "--het-seed=3"),
        ("--devices=cpu", "--rootdir=checks/deep"),
        ("--devices=cpu", "-c", "other.ini"),
        ("--devices=cpu", "--import-mode=importlib"),
        ("--devices=cpu", "-o", "console_output_style=classic", "-p", "no:randomly"),
        ("--devices=cpu", "-n1"),
        ("--devices=cpu", "-n1", "--dist=loadgroup"),
    ],
)
def test_with_the_options_of_the_run(tmp_path: Path, how: tuple[str, ...]) -> None:
    write(tmp_path, {**suite(), "other.ini": "[pytest]\n"})
    if "--dist=loadgroup" in how:
        path = tmp_path / "checks/deep/test_it.py"
        path.write_text(
            path.read_text().replace("@pytest", "@pytest.mark.xdist_group('g')\n@pytest")
        )

    repeats(tmp_path, pytest_line(*how, "checks"), count=2 if "sim" in how[0] else 1)


def test_where_the_option_is_somebody_elses(tmp_path: Path) -> None:
    write(tmp_path, {**suite(), "conftest.py": OTHERS_OPTION})

    repeats(tmp_path, pytest_line("--het-devices=cpu"))


def test_where_the_devices_are_in_the_settings(tmp_path: Path) -> None:
    write(tmp_path, suite())
    (tmp_path / "pytest.ini").write_text("[pytest]\nhet_devices = cpu\n")

    repeats(tmp_path / "other", pytest_line("../checks"))


@pytest.mark.parametrize("here", ["", "odd [x] folder", "checks"])
def test_where_a_folder_has_brackets(tmp_path: Path, here: str) -> None:
    """Pytest itself takes a bracket in a path for that of a parameter."""
    write(tmp_path, {"odd [x] folder/test_it.py": TEST.format(text="a"), "checks/none": ""})
    what = {"": ".", "checks": ".."}.get(here, ".")

    repeats(tmp_path / here, pytest_line("--devices=cpu", what))
