"""README and guides work for a reader who begins in an empty folder and does what they say."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, final

import pytest

from tests.contract.pages import name_of, text_of
from tests.contract.reading import (
    READ,
    Command,
    File,
    Output,
    Snippet,
    UnreadableError,
    matches,
    steps,
)
from tests.plugin.sessions import environment

PIP: Final = """\
import pathlib, sys, tomllib

if sys.argv[1:3] != ["install", "-e"]:
    sys.exit("no test installs from elsewhere: mark the block as not run")
folder = pathlib.Path(sys.argv[3]).resolve()
project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
info = pathlib.Path({packages!r}) / f"{{project['name']}}-{{project['version']}}.dist-info"
info.mkdir(parents=True)
head = f"Metadata-Version: 2.1\\nName: {{project['name']}}\\nVersion: {{project['version']}}\\n"
(info / "METADATA").write_text(head)
groups = project.get("entry-points", {{}}).items()
lines = [f"[{{g}}]\\n" + "".join(f"{{k}} = {{v}}\\n" for k, v in e.items()) for g, e in groups]
(info / "entry_points.txt").write_text("".join(lines))
(info.parent / project["name"]).symlink_to(folder / project["name"])
"""
"""What an editable install leaves behind, in a folder of the reader's own: a name, entry points
and a link to the sources. Nothing is built, so that nothing is fetched."""

QUICK: Final = "-p no:cacheprovider -p no:hypothesispytest"


@final
class Reader:
    """Does what a page says, in a folder that is empty at first."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "reader"
        self.folder = self.home
        self.output = ""
        self.namespace: dict[str, Any] = {"__name__": "page"}
        programs, packages = folder / "bin", folder / "packages"
        for path in (self.home, programs, packages):
            path.mkdir()
        pip = programs / "pip"
        script = programs / "pip.py"
        script.write_text(PIP.format(packages=str(packages)))
        pip.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(script)])} "$@"\n')
        pip.chmod(0o755)
        self.env = environment(
            PYTEST_ADDOPTS=QUICK,
            CUDA_VISIBLE_DEVICES="",  # the pages speak of a machine without
            COLUMNS="160",
            STAYS=str(folder / "stays"),
        )
        paths = (str(programs), str(Path(sys.executable).parent), self.env["PATH"])
        self.env["PATH"] = os.pathsep.join(paths)
        self.env["PYTHONPATH"] = os.pathsep.join((self.env["PYTHONPATH"], str(packages)))

    def read(self, text: str, name: str) -> None:
        """Do all that a page says, in order."""
        for step in steps(text, name):
            for act in step.acts:
                self.do(act, str(step.block))

    def run(self, command: Command) -> int:
        """Run a line in a shell, where the line before it ended; return its exit code."""
        lines = f'{command.line}\nended=$?; pwd > "$STAYS"; exit $ended'
        done = subprocess.run(
            ["bash", "-c", lines],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.output = done.stdout
        self.folder = Path(Path(self.env["STAYS"]).read_text().rstrip("\n"))
        return done.returncode

    def write(self, file: File) -> None:
        path = self.folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") + "\n\n" if path.exists() else ""
        path.write_text(before + file.text, encoding="utf-8")

    def type(self, text: str, where: str) -> None:
        """Execute Python in this process, with the names that the page defined before."""
        output = io.StringIO()
        loaded = set(sys.modules)
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(output):
            sys.path.insert(0, str(self.folder))
            try:
                exec(compile(text, where, "exec"), self.namespace)
            finally:
                sys.path.remove(str(self.folder))
                for name in set(sys.modules) - loaded:
                    file = getattr(sys.modules[name], "__file__", None) or ""
                    if Path(file).is_relative_to(self.home):
                        del sys.modules[name]
        self.output = output.getvalue()

    def do(self, act: Command | File | Snippet | Output, where: str) -> None:
        match act:
            case Command():
                assert self.run(act) == 0, f"{where}: $ {act.line}\n{self.output}"
                if act.output is not None:
                    self.compare(act.output, f"{where}: $ {act.line}")
            case File():
                self.write(act)
            case Snippet(text):
                self.type(text, where)
            case Output(text):
                self.compare(text, where)

    def compare(self, expected: str, where: str) -> None:
        assert matches(expected, self.output), (
            f"{where}\nthe page:\n{expected}\nprinted:\n{self.output}"
        )


@pytest.mark.parametrize("page", READ, ids=name_of)
def test_a_reader_gets_to_the_end(page: Path, tmp_path: Path) -> None:
    Reader(tmp_path).read(text_of(page), name_of(page))


REASONS: Final = frozenset(
    {
        "it is installed where this is tested",
        "needs Node.js",
        "needs a GPU",
        "needs a model that `make run` fetches",
        "needs a report of last month",
        "needs an ssh key",
        "needs the network",
        "takes a minute",
        "takes a minute, and needs an ssh key",
        "takes minutes",
        "takes minutes, and needs JAX",
        "takes minutes, and needs the network",
        "a form",
        "a form of an engine, and needs Node.js",
        *("a picture", "the files of one item", "times differ", "it takes minutes"),
        *("of a backend with a fault", "of an adapter with a fault"),
        "the whole corpus on the new package",
    }
)
"""Why a block is not run, or what is printed not compared. Think before one is added."""


def test_each_block_that_is_not_run_has_one_of_the_reasons() -> None:
    read = [step for page in READ for step in steps(text_of(page), name_of(page))]
    reasons = [step.reason for step in read if step.reason is not None]

    assert set(reasons) == REASONS
    assert len(reasons) < len(read) / 2


def fence(text: str, language: str = "console") -> str:
    return f"```{language}\n{text}\n```\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (fence("make", ""), "page.md:1: nothing says which file this block is"),
        (fence("a = 1", "toml"), "page.md:1: nothing says which file this toml is"),
        (fence("make"), "a console block begins with a command"),
        ("<!-- not run -->\n" + fence("$ make"), "say why it is not run"),
        ("<!-- an example: x -->\n" + fence("$ make"), "a console block is run, or has its reason"),
        ("<!-- not run: needs a GPU -->\n\n" + fence("$ make"), "a comment is no marker"),
        ("<!-- not run: needs a GPU -->\n", "a comment is no marker"),
    ],
)
def test_a_page_that_does_not_say_what_a_block_is_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        steps(text, "page.md")


@pytest.mark.parametrize(
    "text",
    [
        fence("$ false"),
        fence("$ true\n$ exit 3"),
        fence("$ echo yes\nno"),
        fence("$ echo yes\nyes\nand more …"),
        fence("$ echo yes; echo and more\nyes"),
        fence("$ cat it.txt"),
        fence("$ echo yes") + fence("no", "text"),
        fence("print(undefined)", "python"),
        fence("print(1)", "python") + fence("2", "text"),
        fence("# it.py\nx = 1", "python") + fence("from it import y", "python"),
    ],
)
def test_a_page_that_is_wrong_fails(text: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, NameError, ImportError)):
        Reader(tmp_path).read(text, "page.md")


def test_a_page_is_read_from_top_to_bottom(tmp_path: Path) -> None:
    page = (
        fence("# it.py\nx = 1", "python")
        + fence("# it.py, further down\ny = 2", "python")
        + fence("from it import x, y\nprint(x + y)", "python")
        + fence("3", "text")
        + "<!-- not run: needs a GPU -->\n"
        + fence("$ false")
        + fence("$ mkdir sub && cd sub\n$ cat ../it.py \\\n    -\n…\ny …\n$ false; echo $?\n1")
        + "Then write `sub/a.toml`:\n\n"
        + fence("a = 1", "toml")
        + fence("$ cat sub/a.toml\na = 1\n$ basename $PWD\nsub")
    )
    Reader(tmp_path).read(page, "page.md")
