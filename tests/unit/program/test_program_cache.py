"""A program that was compiled before is found again, by all that decides it, or compiled anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.ir import structural
from reference_vm.jit.object_cache import PROGRAMS, VARIABLE
from reference_vm.passes import pipeline
from reference_vm.program import identity
from reference_vm.program.cache import LEAST
from reference_vm.program.program import Program
from tests.unit.program.files import saved


def text(length: int = LEAST, name: str = "v", value: float = 0.5) -> str:
    """Return a program of some more operators, with a constant that no kernel holds."""
    lines = [
        "module {",
        "  vdevice @host, @accel",
        "  fn @main(%x: f32[n]) -> f32[n] {",
        f"    %k = const f32[100] splat {value}",
        "    %s = sum(%k)",
        f"    %{name}0 = add(%x, %s)",
    ]
    for i in range(length):
        op = ("tanh", "negative", "abs")[i % 3]
        lines.append(f"    %{name}{i + 1} = {op}(%{name}{i}) {'@accel' if i % 7 == 0 else ''}")
    return "\n".join([*lines, f"    return %{name}{length}", "  }", "}", ""])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv(PROGRAMS, "on")
    return tmp_path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often the passes are run."""
    counts: list[int] = []
    run = pipeline.run

    def counted(*args: Any, **options: Any) -> Any:
        counts.append(1)
        return run(*args, **options)

    monkeypatch.setattr(pipeline, "run", counted)
    return counts


def made(program_text: str, **options: Any) -> Program:
    return rv.compile(rv.parse(program_text, "a.hir"), "accel=sim:0", **options)


def test_a_program_is_compiled_once(folder: Path, compiled: list[int]) -> None:
    first, second = made(text()), made(text())

    assert len(compiled) == 1
    assert second.proven
    assert structural.equal(first.module, second.module)
    assert saved(first) == saved(second)
    x = np.array([1, 2, 3], "f4")
    for entry in (rv.Session(first), rv.Session(second)):
        np.testing.assert_array_equal(entry.run("main", x), rv.Session(first).run("main", x))


def test_what_the_module_holds_is_not_kept_twice(folder: Path) -> None:
    made(text(value=1234.5))

    (entry,) = folder.rglob("*.rvm")
    assert np.full(4, 1234.5, "f4").tobytes() not in entry.read_bytes()


@pytest.mark.parametrize(
    "other",
    [
        lambda: made(text(name="w")),
        lambda: made(text(value=0.25)),
        lambda: made(text(LEAST + 1)),
        lambda: made("\n" + text()),
        lambda: made(text(), fuse=False),
        lambda: made(text(), policy="replicate"),
        lambda: made(text(), default="accel"),
        lambda: made(text(), place="v3=accel"),
        lambda: made(text(), split="halves"),
        lambda: made(text(), nominal={"n": 8}),
        lambda: made(text(), executor="numpy"),
        lambda: rv.compile(rv.parse(text(), "b.hir"), "accel=sim:0"),
        lambda: rv.compile(rv.parse(text(), "a.hir"), "accel=sim:1"),
    ],
)
def test_whatever_decides_a_program_counts(folder: Path, compiled: list[int], other: Any) -> None:
    made(text())
    other()

    assert len(compiled) == 2


def test_another_source_or_processor_counts(
    folder: Path, compiled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made(text())
    monkeypatch.setattr(identity, "_work", lambda: "another")
    made(text())

    assert len(compiled) == 2


def test_the_source_of_every_module_counts() -> None:
    names = [name for name, _ in identity.modules()]

    assert "/compiler.py" in names
    assert "/targets/numba/target.py" in names
    assert len(names) > 300


def test_small_programs_and_those_with_weights_files_are_not_kept(
    folder: Path, compiled: list[int]
) -> None:
    weights = text().replace("splat 0.5", 'from "w.safetensors" "k"')
    for program in (text(8), weights):
        made(program)
        made(program)

    assert len(compiled) == 4
    assert not list(folder.rglob("*.rvm"))


@pytest.mark.parametrize("variable", [VARIABLE, PROGRAMS])
def test_off_keeps_none(
    folder: Path, compiled: list[int], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "off")
    made(text())
    made(text())

    assert len(compiled) == 2
    assert not list(folder.rglob("*.rvm"))


def test_a_checked_compilation_is_made_anew(folder: Path, compiled: list[int]) -> None:
    made(text())
    made(text(), check=True)

    assert len(compiled) == 2


@pytest.mark.parametrize("at", [0, 100, -1])
def test_a_damaged_entry_is_made_anew_and_noted(
    folder: Path, compiled: list[int], at: int, caplog: pytest.LogCaptureFixture
) -> None:
    made(text())
    (entry,) = folder.rglob("*.rvm")
    damaged = bytearray(entry.read_bytes())
    damaged[at] ^= 1
    entry.write_bytes(damaged)

    made(text())
    made(text())

    assert len(compiled) == 2
    assert [r.message for r in caplog.records] == [
        f"the cached program {entry.name} is damaged and was compiled again"
    ]
