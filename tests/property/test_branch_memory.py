"""A plan holds no more than what lives at once on some path, however branches nest."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from reference_vm.runtime.peaks import _end_of_work, _Lives, peaks
from reference_vm.runtime.trace import Trace
from tests.property.branch_programs import Branches, branch_program

SIDE: Final = 40
"""Of matrices: large enough for the alignment of rows not to matter."""

SURPLUS: Final = 1.10
PLACES: Final = {"one": ("",), "two": ("", "", " @host", " @accel")}


def arguments(program: Branches, seed: int) -> list[tuple[Any, ...]]:
    """Return the arguments of a run for each path through the branches."""
    generator = np.random.default_rng(seed)
    x, y = generator.standard_normal((2, SIDE, SIDE)).astype(np.float32)
    boxed = (("Empty",), ("Full", y))
    plain = (np.array(False), np.array(True))
    choices = [plain if type_ == "bool[]" else boxed for type_ in program.deciding]
    return [(x, y, x[0], *chosen) for chosen in itertools.product(*choices)]


def most(program: Branches, seed: int, fuse: bool) -> dict[str, tuple[int, int]]:
    """Return for each device what a run holds at most, and what has to live at most.

    What has to live at a moment is what some run that goes on from there reads.
    """
    module = rv.parse(program.text)
    compiled = rv.compile(module, "host=cpu:0,accel=sim:0", fuse=fuse, check=True)
    session = rv.Session(compiled, checked=True)
    planned = Counter[str]()
    live: dict[tuple[Any, ...], set[tuple[Any, ...]]] = defaultdict(set)
    for args in arguments(program, seed):
        session.run("main", *args)
        for device, peak in peaks(session.trace).items():
            planned[device] = max(planned[device], (peak.aligned or (0, 0))[0])
        for moment, values in moments(session.trace):
            live[moment] |= values
    bound = Counter[str]()
    for values in live.values():
        total = Counter[str]()
        for device, _, _, size in values:
            total[device] += size
        bound |= total
    return {device: (planned[device], bound[device]) for device in planned}


def moments(trace: Trace) -> Iterator[tuple[tuple[Any, ...], set[tuple[Any, ...]]]]:
    """Yield each piece of work of a run, by all that was done so far, and what lives during it."""
    lives, works, work = _Lives(_end_of_work(trace)), list[int](), list[Any]()
    for at, record in enumerate(trace):
        if record.kind in ("alloc", "free"):
            lives.allocation(at, record)
        else:
            lives.work(at, record)
            works.append(at)
            work.append((record.kind, record.op, record.device, record.defines))
    values = [
        (device, buffer, value)
        for buffer, device in lives.devices.items()
        for value in (*lives.open[buffer], *lives.over[buffer])
    ]
    values.sort(key=lambda v: (v[2].first, v[1], v[2].offset))
    for position, at in enumerate(works):
        here = {
            (device, tuple(work[: works.index(v.first) + 1]), number, -(-v.length // 64) * 64)
            for number, (device, _, v) in enumerate(values)
            if v.first <= at <= v.last
        }
        yield tuple(work[: position + 1]), here


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("side", [str(SIDE), "n"])
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), fuse=st.booleans())
def test_no_path_holds_more_than_lives(side: str, places: str, seed: int, fuse: bool) -> None:
    program = branch_program(seed, side, PLACES[places])
    for device, (planned, bound) in most(program, seed, fuse).items():
        assert planned <= SURPLUS * bound, f"{device}: {planned} of {bound}\n{program.text}"
