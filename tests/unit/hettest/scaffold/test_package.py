"""``hettest backend new`` writes a package that runs at once, and nothing over what is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hettest.scaffold.package import FILES, TEMPLATES, render, write
from hettest.waivers import load
from tests.unit.hettest.test_cli import hettest

ROOT = Path(__file__).parents[4]


def test_it_runs_without_being_installed(tmp_path: Path) -> None:
    write("acme", tmp_path)
    chosen = "keeps_the_protocol or ops/add or dtypes/arithmetic"

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", "-k", chosen],
        cwd=tmp_path / "acme",
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 5, done.stdout  # type: ignore[index]
    assert " 0 failed, 0 crashed, 0 not run" in done.stdout
    assert not re.search(r"^[.s]*s[.s]*( +\[|$)", done.stdout, re.MULTILINE)


def test_its_files_are_well_formed(tmp_path: Path) -> None:
    written = write("acme", tmp_path)

    texts = {path.relative_to(tmp_path / "acme").as_posix(): path.read_text() for path in written}
    project = tomllib.loads(texts["pyproject.toml"])
    assert project["project"]["entry-points"]["hettest.backends"] == {
        "acme": "acme.conformance:Backend"
    }
    assert load(tmp_path / "acme/acme/waivers.toml").entries == ()
    assert "--het-policy=fail" in texts[".github/workflows/conformance.yml"]
    assert "--devices=cpu,acme" in texts[".github/workflows/conformance.yml"]
    for name, text in texts.items():
        assert "$name" not in text, name
        if name.endswith(".py"):
            compile(text, name, "exec")


def test_its_code_is_formatted_and_clean(tmp_path: Path) -> None:
    write("acme", tmp_path)

    for command in (("check", "--select=E,F,I,UP,B"), ("format", "--check")):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", "--line-length=100", tmp_path],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout


def test_each_template_is_used() -> None:
    assert sorted(FILES.values()) == sorted(path.name for path in TEMPLATES.iterdir())


def test_the_page_on_the_protocol_shows_the_adapter() -> None:
    page = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")

    shown = render("adapter.py.txt", "mine", "npu", packaged=False)

    assert f"```python\n{shown}```" in page
    assert len(shown.splitlines()) <= 81


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My-Backend", "expected lower-case letters, digits and _, such as my_backend"),
        ("1st", "found the name '1st', expected lower-case letters, digits and _"),
        ("../x", "expected lower-case letters, digits and _, such as x"),
        ("class", "the name class is taken"),
        ("json", "the name json is taken"),
        ("cpu", "the name cpu is taken"),
        ("here", "already; choose another name, or another folder by --into"),
    ],
)
def test_what_cannot_be_written_is_wrong_usage(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    message: str,
) -> None:
    (tmp_path / "here").mkdir()

    assert hettest(monkeypatch, "backend", "new", name, f"--into={tmp_path}") == 2

    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


def test_a_folder_that_cannot_be_made_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    assert hettest(monkeypatch, "backend", "new", "acme", f"--into={tmp_path / 'file'}") == 2

    assert "cannot be written: Not a directory" in capsys.readouterr().err


def test_the_command_says_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert hettest(monkeypatch, "backend", "new", "acme") == 0

    lines = capsys.readouterr().out.splitlines()
    assert "acme/acme/conformance.py" in lines
    assert lines[-1] == "next: cd acme && pytest"
