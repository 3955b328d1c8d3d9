"""Object code on disk: found again, checked, and never in the way."""

from __future__ import annotations

import logging
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ir.nodes import Function
from reference_vm.jit.object_cache import (
    PROGRAMS,
    VARIABLE,
    ObjectCache,
    default_folder,
    programs_folder,
)
from reference_vm.loops.code import Instruction
from reference_vm.loops.nest import Nest
from reference_vm.targets.numba import machine
from reference_vm.targets.numba.kernel import CompiledKernel
from reference_vm.targets.numba.target import NumbaTarget
from reference_vm.types.dtype import F32
from tests.unit.targets.test_fused_kernels import ROW_RESULT, SOFTMAX, only_kernel

KEY = "ab" * 32


def test_code_is_found_again(tmp_path: Path) -> None:
    ObjectCache(tmp_path).put(KEY, b"code\nwith a line")
    assert ObjectCache(tmp_path).get(KEY) == b"code\nwith a line"


def test_nothing_is_found_that_was_not_stored(tmp_path: Path) -> None:
    assert ObjectCache(tmp_path).get(KEY) is None
    assert ObjectCache(None).get(KEY) is None


@pytest.mark.parametrize("damage", ["cut", "flipped", "other key", "empty", "no header"])
def test_damaged_entry_is_noted_and_not_used(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache = ObjectCache(tmp_path)
    cache.put(KEY, b"code")
    (entry,) = tmp_path.rglob("*.o")
    whole = entry.read_bytes()
    entry.write_bytes(
        {
            "cut": whole[:-1],
            "flipped": whole[:-1] + b"x",
            "other key": whole.replace(b"abab", b"acab", 1),
            "empty": b"",
            "no header": b"code",
        }[damage]
    )
    with caplog.at_level(logging.WARNING):
        assert cache.get(KEY) is None
    assert cache.notes == [f"the cached kernel {KEY}.o is damaged and was compiled again"]
    assert caplog.messages == cache.notes


@pytest.mark.parametrize("kind", ["fifo", "folder", "loop"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    cache = ObjectCache(tmp_path)
    path = tmp_path / KEY[:2] / f"{KEY}.o"
    path.parent.mkdir()
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(path)

    assert cache.get(KEY) is None
    cache.put(KEY, b"code")

    assert cache.get(KEY) == (None if kind == "folder" else b"code")


def make_code(target: NumbaTarget, function: Function) -> None:
    """Have the machine code of a kernel, which is otherwise made when it is first run."""
    kernel = target.compile(function, "cpu")
    assert isinstance(kernel, CompiledKernel)
    assert kernel.entry


def test_a_kernel_that_is_not_run_is_not_compiled(tmp_path: Path) -> None:
    target = NumbaTarget(cache=ObjectCache(tmp_path))

    kernel = target.compile(only_kernel(SOFTMAX), "cpu")

    assert target.statistics.compiled == 0
    kernel(np, [np.ones((2, 4), np.float32)], [None])
    assert target.statistics.compiled == 1


def test_second_target_compiles_nothing(tmp_path: Path) -> None:
    functions = [only_kernel(SOFTMAX), only_kernel(ROW_RESULT)]
    for compiled, loaded in ((2, 0), (0, 2)):
        target = NumbaTarget(cache=ObjectCache(tmp_path))
        for function in functions:
            make_code(target, function)
        counts = target.statistics
        assert (counts.compiled, counts.loaded) == (compiled, loaded)


def test_code_that_another_printer_made_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = only_kernel(SOFTMAX)
    make_code(NumbaTarget(cache=ObjectCache(tmp_path)), function)
    monkeypatch.setattr(machine, "printer", lambda: "another")

    target = NumbaTarget(cache=ObjectCache(tmp_path))
    make_code(target, function)

    assert (target.statistics.compiled, target.statistics.loaded) == (1, 0)


@pytest.mark.parametrize("twin", [-0.0, math.nan, 5e-324])
def test_nests_that_differ_in_a_number_differ_in_form(twin: float) -> None:
    zero = Nest(1, 0, (), (Instruction("literal", (), F32, 0.0),), ())
    other = replace(zero, code=(replace(zero.code[0], detail=twin),))

    assert other.form != zero.form
    assert other.form == replace(other).form


def test_damaged_kernel_is_compiled_again_and_right(tmp_path: Path) -> None:
    function = only_kernel(SOFTMAX)
    make_code(NumbaTarget(cache=ObjectCache(tmp_path)), function)
    for entry in tmp_path.rglob("*.o"):
        entry.write_bytes(entry.read_bytes()[:-40])
    target = NumbaTarget(cache=ObjectCache(tmp_path))
    (result,) = target.compile(function, "cpu")(np, [np.ones((2, 4), np.float32)], [None])
    np.testing.assert_array_equal(result, np.full((2, 4), 0.25, np.float32))
    assert target.statistics.compiled == 1
    assert len(target.machine.cache.notes) == len(list(tmp_path.rglob("*.o")))


def test_folder_that_cannot_be_written_costs_only_the_disk(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ObjectCache(tmp_path / "file")
    cache.put(KEY, b"code")
    assert cache.get(KEY) is None
    assert len(cache.notes) == 1


def test_no_part_of_an_entry_is_left_behind(tmp_path: Path) -> None:
    ObjectCache(tmp_path).put(KEY, b"code")
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [f"{KEY}.o"]


def test_folder_is_chosen_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/some/where")
    assert default_folder() == Path("/some/where")
    monkeypatch.setenv(VARIABLE, "off")
    assert default_folder() is None
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    monkeypatch.setattr("sys.platform", "linux")
    assert default_folder() == Path("/caches/reference-vm")
    monkeypatch.setenv(VARIABLE, "~nobody-at-all/kernels")
    assert default_folder() is None


def test_programs_are_kept_unless_they_are_not_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/some/where")
    for kept in ("on", ""):
        monkeypatch.setenv(PROGRAMS, kept)
        assert programs_folder() == Path("/some/where")
    monkeypatch.setenv(PROGRAMS, "off")
    assert programs_folder() is None
    monkeypatch.setenv(PROGRAMS, "of")
    with pytest.raises(CompileError, match="REFERENCE_VM_PROGRAMS is 'of', expected on or off"):
        programs_folder()
