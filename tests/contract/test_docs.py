"""What the pages say is so: names import as written, commands take the options, blocks run."""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import typer

import reference_vm as rv
from hettest import backend
from hettest.cli.main import application as hettest_commands
from reference_vm.cli.main import application as reference_commands
from tests.contract.pages import FENCE, PAGES, ROOT, Block, blocks, name_of, spans
from tests.contract.reading import READ

PACKAGES: Final = ("reference_vm", "hettest", "benchmarks")
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_FILE: Final = re.compile(r"(?:reference_vm|hettest|tests|docs|cases|benchmarks)/[\w./-]*\w")

_NO_NAME: Final = re.compile(
    r".*\.(?:json|html|toml|yml|py|md|txt)"  # a file
    r"|expect\.\w+"  # a key of a case
    r"|ops\.\w+"  # a clause
    r"|hettest\.backends"  # a group of entry points
    r"|.*\.[A-Z]+"  # to be filled in
)
_NO_FILE: Final = re.compile(r".*(?:\b|_|c)[A-Z]{2,}.*|cases/planning/x\.toml")


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            annotated = getattr(found, "__annotations__", {})
            if not hasattr(found, part):
                return part in annotated and part == parts[-1]
            found = getattr(found, part)
        return True
    return False


def is_module(name: str) -> bool:
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_import_as_they_are_written(page: Path) -> None:
    wrong = []
    for span in spans(page):
        for name in _DOTTED.findall(re.sub(r'"[^"]*"', "", span)):
            if _NO_NAME.fullmatch(name):
                known = True
            elif name.startswith("rv."):
                known = resolves(f"reference_vm.{name[3:]}")
            elif name.split(".")[0] in PACKAGES:
                known = resolves(name)
            else:  # a name inside of a package is to be written whole
                inner = [f"{package}.{name.split('.')[0]}" for package in PACKAGES[:2]]
                known = not any(
                    is_module(i) and resolves(i + name[name.index(".") :]) for i in inner
                )
            if not known:
                wrong.append(name)
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_are_there(page: Path) -> None:
    named = {f for s in spans(page) for f in _FILE.findall(s) if not _NO_FILE.fullmatch(f)}
    assert sorted(f for f in named if not any(ROOT.glob(f"{f}*"))) == []


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each command of ours on a page."""
    text = page.read_text(encoding="utf-8")
    written = [fence[3] for fence in FENCE.finditer(text)]
    lines = [line for block in written for line in block.replace("\\\n", " ").splitlines()]
    for line in (*lines, *spans(page)):
        line = line.strip().removeprefix("$ ")
        if re.match(r"(reference-vm|hettest) [a-z]", line):
            try:
                yield shlex.split(line, comments=True)
            except ValueError:
                yield line.split()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_have_the_options_that_are_given(page: Path) -> None:
    apps = {"reference-vm": reference_commands(), "hettest": hettest_commands()}
    wrong = []
    for words in commands(page):
        command: Any = typer.main.get_command(apps[words[0]])
        known = {"--help"}
        for word in words[1:]:
            inner = getattr(command, "commands", {}).get(word.partition("|")[0])
            if inner is not None:
                command = inner
        known |= {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
        if hasattr(command, "commands") and command.name not in words[-1]:
            wrong.append(" ".join(words))
        own = words[: words.index("--")] if "--" in words else words
        given = {w.partition("=")[0] for w in own[1:] if w.startswith("--")}
        wrong += [f"{command.name} {o}" for o in sorted(given - known)]
    assert wrong == []


@pytest.mark.parametrize("block", blocks("json", "toml", "hir"), ids=str)
def test_data_and_programs_are_well_formed(block: Block) -> None:
    match block.language:
        case "json":
            json.loads(block.text)
        case "toml":
            tomllib.loads(block.text)
        case _:
            rv.parse(block.text)


PYTHON: Final = blocks("python")
APART: Final = [
    block
    for block in PYTHON
    if not block.page.startswith("docs/conformance/") and ROOT / block.page not in READ
]
"""Those that stand for themselves: `test_pages_run` reads guides from top to bottom, and blocks
about other engines need these, and say what is wrong with them."""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_is_python(page: Path) -> None:
    for block in PYTHON:
        if block.page == name_of(page):
            ast.parse(block.text)


MODEL: Final = """module {
  vdevice @host, @accel
  fn @main(%x: f32[batch_size, sequence_length]) -> f32[batch_size, sequence_length] {
    %"encoder/layer.1/exp" = exp(%x)
    %y = negative(%"encoder/layer.1/exp") @accel
    return %y
  }
}
"""


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the pages take for granted, in a folder with a model."""
    monkeypatch.chdir(tmp_path)
    where = "host=cpu:0,accel=sim:0"
    module = rv.parse(MODEL)
    program = rv.compile(module, where)
    session = rv.Session(program)
    session.run("main", np.ones((2, 3), np.float32))
    names = {n: getattr(backend, n) for n in backend.__all__}
    model = re.search(r'PROGRAM = """.*?"""', (ROOT / "README.md").read_text(), re.DOTALL)
    assert model is not None
    exec(model[0], names)
    names |= {"rv": rv, "np": np, "module": module, "program": program, "session": session}
    array = np.ones(4, np.float32)
    return names | {"array": array, "args": (array,) * 3, "name": "n", "variable": "v", "device": 0}


@pytest.mark.parametrize("block", APART, ids=str)
def test_python_runs(block: Block, context: dict[str, Any]) -> None:
    exec(compile(block.text, str(block), "exec"), context)
