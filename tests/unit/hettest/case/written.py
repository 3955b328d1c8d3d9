"""Writes a case file for a test, from what the test is about and defaults for the rest."""

from __future__ import annotations

from pathlib import Path

from hettest.case.loader import load
from hettest.case.model import Case

PROGRAM = """module {
  vdevice @host, @accel
  fn @main(%a: f32[4], %b: f32[4]) -> f32[4] @host {
    %s = add(%a, %b)       @host
    %t = multiply(%a, %b)  @accel
    %d = subtract(%s, %t)  @host
    return %d
  }
}
"""

RUN = """[[run]]
name   = "plain"
args.a = { dtype = "f32", shape = [4], data = [1, 2, 3, 4] }
args.b = { dtype = "f32", shape = [4], data = [5, 6, 7, 8] }
result = { dtype = "f32", shape = [4], data = [1, -4, -11, -20] }
"""


def text(program: str = PROGRAM, run: str = RUN, head: str = "", tail: str = "") -> str:
    """Return a case's text; ``head`` adds keys, ``tail`` tables."""
    return (
        'format  = 1\nsummary = "two operators placed apart"\nlevel   = 3\n'
        f"clauses = [\"placement.operands\"]\n{head}\nprogram = '''\n{program}'''\n\n{run}\n{tail}"
    )


def write(folder: Path, content: str, name: str = "area/name.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def load_text(folder: Path, content: str) -> tuple[Case, ...]:
    return load(write(folder, content), folder)
