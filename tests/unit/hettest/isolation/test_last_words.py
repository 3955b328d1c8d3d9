"""The black box: what was last noted outlives the process; the reference notes its kernels."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np
import pytest

from hettest.backend import progress
from hettest.backend.protocol import Options
from hettest.runner.program import TextProgram
from reference_vm.conformance import Backend
from tests.unit.hettest.case.written import PROGRAM


@pytest.fixture
def box() -> Iterator[mmap.mmap]:
    made = mmap.mmap(-1, progress.SIZE)
    progress.record_to(made)
    yield made
    progress.record_to(None)


def test_the_last_step_and_the_last_note_are_kept(box: mmap.mmap) -> None:
    progress.step("compile")
    progress.note("parse")
    progress.note("plan")

    assert progress.read(box) == progress.Words("compile", "plan")
    assert str(progress.read(box)) == "compile, last noted: plan"


def test_a_step_wipes_the_note_of_the_one_before(box: mmap.mmap) -> None:
    progress.note("plan")
    progress.step("run")

    assert str(progress.read(box)) == "run"


def test_a_long_text_is_cut_at_a_whole_character(box: mmap.mmap) -> None:
    progress.step("x" + "é" * 500)

    assert progress.read(box).step == "x" + "é" * 127


def test_without_a_box_nothing_is_noted() -> None:
    assert not progress.is_open()
    progress.step("run")
    progress.note("add")


def test_the_reference_notes_each_kernel_and_keeps_what_it_kept(box: mmap.mmap) -> None:
    args = (np.ones(4, np.float32), np.ones(4, np.float32))
    compiled = Backend().compile(
        TextProgram("it", PROGRAM), {"host": "cpu:0", "accel": "sim:0"}, Options()
    )

    noted = compiled.run("main", args)
    last = progress.read(box).note
    progress.record_to(None)
    plain = compiled.run("main", args)

    assert last == "kernel fused_add_subtract -> main/%s, main/%d"
    assert noted.intermediates is not None
    assert plain.intermediates is not None
    assert noted.intermediates.keys() == plain.intermediates.keys()
