"""Nothing in the kit writes a file, prints or reads a document past the doors that make it safe."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

import hettest

ROOT: Final = Path(hettest.__file__).parent

WRITERS: Final[Mapping[str, str]] = {
    "files/writing.py": "the door",
    "conformance/packing.py": "an archive in memory",
    "locks.py": "locks, which nothing is written to",
    "bench/gate/measuring.py": "the output of a process, while it runs",
    "cli/output.py": "the device that drops output for which there is no room",
    "isolation/process.py": "memory that two processes share, without a name",
    "probing/serving.py": "what a process prints while it is served, in a file without a name",
}
"""Who opens files to write, and why."""

SPEAKERS: Final[Mapping[str, str]] = {
    "cli/output.py": "the door",
    "cli/bench_tables.py": "tables, of cells that are clean",
    "cli/progress.py": "a bar, of words of our own",
    "levels/freeze.py": "of words of our own, for whoever makes profiles",
    "cli/main.py": "of words of our own, when a signal ends a command",
    "run_end.py": "the door to pytest's terminal, and cleaned lines as a process ends at once",
}
"""Who writes to a terminal, and why."""

PARSERS: Final[Mapping[str, str]] = {
    "files/reading.py": "the door",
    "case/json_lines.py": "a string of a text that is known to be valid",
    "workers.py": "what a worker of the same run wrote of itself",
    "isolation/frames.py": "what another process answers, of a bounded size",
}
"""Who reads JSON or TOML, and why."""

_PARSING: Final = frozenset({"json.load", "json.loads", "tomllib.load", "tomllib.loads"})
_WRITING: Final = frozenset(
    {
        *("write_text", "write_bytes", "writelines", "mkstemp", "NamedTemporaryFile"),
        *("TemporaryFile", "save", "savez", "savetxt", "tofile", "copyfile", "copytree", "move"),
        *("symlink_to", "hardlink_to", "rename", "touch", "truncate", "mkfifo", "copy2"),
    }
)
_SPEAKING: Final = frozenset({"print", "echo", "secho", "write_line", "Console", "print_json"})


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def writes(name: str, call: ast.Call) -> bool:
    last = name.rpartition(".")[2]
    if last == "open":
        mode = next((k.value for k in call.keywords if k.arg == "mode"), None)
        modes = [mode] if mode is not None else call.args[:2]
        texts = [m.value for m in modes if isinstance(m, ast.Constant) and isinstance(m.value, str)]
        return name == "os.open" or any(
            set(t) <= set("rwaxbt+") and set(t) & set("wax+") for t in texts
        )
    return last in _WRITING and not name.startswith("hettest")


def speaks(name: str) -> bool:
    last = name.rpartition(".")[2]
    if last == "echo":
        return name != "echo"  # the door's own
    return last in _SPEAKING or name in ("sys.stdout.write", "sys.stderr.write")


def found(kind: str, source: str) -> list[str]:
    kinds: dict[str, Callable[[str, ast.Call], bool]] = {
        "w": writes,
        "s": lambda name, _: speaks(name),
        "p": lambda name, _: name in _PARSING,
    }
    return [name for name, call in calls(source) if kinds[kind](name, call)]


DOORS: Final = {"w": WRITERS, "s": SPEAKERS, "p": PARSERS}


@pytest.mark.parametrize("kind", DOORS)
def test_who_is_not_listed_goes_through_the_door(kind: str) -> None:
    past = {
        path.relative_to(ROOT).as_posix(): names
        for path in ROOT.rglob("*.py")
        if (names := found(kind, path.read_text(encoding="utf-8")))
    }
    own = {"write_text", "write_bytes"}  # called by name, they are the door's
    past = {file: [n for n in names if n not in own] for file, names in past.items()}

    assert {file: names for file, names in past.items() if names and file not in DOORS[kind]} == {}
    assert [file for file in DOORS[kind] if not past.get(file)] == [], "no longer does"


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("w", "open(path, 'w')"),
        ("w", "open(path, mode='ab')"),
        ("w", "path.open('x', encoding='utf-8')"),
        ("w", "os.open(path, os.O_WRONLY)"),
        ("w", "path.write_bytes(data)"),
        ("w", "np.save(path, array)"),
        ("w", "tempfile.mkstemp()"),
        ("p", "tomllib.loads(text)"),
        ("p", "json.load(file)"),
        ("s", "print(text, file=sys.stderr)"),
        ("s", "typer.echo(text)"),
        ("s", "sys.stdout.write(text)"),
        ("s", "reporter.write_line(text)"),
    ],
)
def test_a_way_past_the_door_is_seen(kind: str, line: str) -> None:
    assert found(kind, line)


@pytest.mark.parametrize(
    ("kind", "line"),
    [("w", "open(path)"), ("w", "path.open('rb')"), ("s", "echo(text)"), ("s", "_print(found)")],
)
def test_reading_and_the_door_itself_are_let_pass(kind: str, line: str) -> None:
    assert not found(kind, line)
