"""Values that share memory in every way give what NumPy says, in both executors, run after run."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reference_vm as rv
from reference_vm.session import DeviceArray, Session
from tests.unit.memory.aliasing import PARAMETERS, Random, random_program

MAPS = {"cpu": ("@host",), "cpu,sim": ("@host", "@accel")}
SIDES = (4, 3, 1, 0)


class Caller:
    """Runs a program as a caller who keeps results, changes them, and puts arrays on devices."""

    def __init__(
        self, session: Session, program: Random, homes: list[str], donated: list[bool]
    ) -> None:
        self.session = session
        self.program = program
        self.devices = ["sim:0" if home == "@accel" else "cpu:0" for home in homes]
        self.donated = donated
        self.kept: list[tuple[Any, Any]] = []

    def run(self, matrices: list[Any], conditions: tuple[bool, bool], k: int, put: bool) -> None:
        copies = [np.copy(m) for m in matrices]
        arguments = [self.argument(*pair, put) for pair in zip(matrices, self.devices, strict=True)]
        start = self.current()
        shape = {"shape": matrices[0].shape, "%k": np.array(k)}
        env = dict(zip(PARAMETERS, matrices, strict=True)) | shape
        env |= {"%c": conditions[0], "%d": conditions[1]}
        found = self.session.run("main", *arguments, *map(np.array, conditions), env["%k"])
        for one, other in zip(found, self.program.expected(env), strict=True):
            np.testing.assert_array_equal(one, other)
        for one, other in zip(matrices, copies, strict=True):
            np.testing.assert_array_equal(one, other)
        for result, before in self.kept:
            np.testing.assert_array_equal(result, before)
        found[0][...] = 77
        self.kept += [(one, np.copy(one)) for one in found]
        self.check_arguments(arguments, copies, start)

    def argument(self, matrix: Any, device: str, put: bool) -> Any:
        return (
            self.session.put(matrix, device) if put and device in self.session.devices else matrix
        )

    def check_arguments(self, given: list[Any], copies: list[Any], before: dict[str, int]) -> None:
        """Fail unless what was donated is gone, what was not is as it was, and nothing leaks."""
        for argument, copy, donated in zip(given, copies, self.donated, strict=True):
            if not isinstance(argument, DeviceArray):
                continue
            tensor = argument.tensor
            assert argument.donated == donated == (not tensor.buffer.alive)
            if donated:
                before[argument.device] -= copy.nbytes
            else:
                np.testing.assert_array_equal(tensor.buffer.device.peek(tensor), copy)
                tensor.buffer.device.free(tensor.buffer)
                before[argument.device] -= copy.nbytes
        assert self.current() == before

    def current(self) -> dict[str, int]:
        return {name: m.current for name, m in self.session.memory().items()}


@pytest.mark.parametrize("devices", MAPS)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(seed=st.integers(0, 2**32), fuse=st.booleans())
def test_random_programs_give_what_numpy_says(devices: str, seed: int, fuse: bool) -> None:
    pick, places = random.Random(seed), MAPS[devices]
    side = pick.choice(SIDES)
    homes = [pick.choice(places) for _ in PARAMETERS]
    donated = [pick.random() < 0.5 for _ in PARAMETERS]
    program = random_program(pick.randrange, side, homes, donated, places)
    compiled = rv.compile(rv.parse(program.text), "host=cpu:0,accel=sim:0", fuse=fuse, check=True)
    for interpreter in (True, False):
        session = Session(compiled, checked=True, interpreter=interpreter)
        caller = Caller(session, program, homes, donated)
        generator = np.random.default_rng(seed)
        for turn in range(5):
            some = generator.integers(-3, 4, (3, side, side)).astype(np.float32)
            matrices = list(some) if turn % 2 else [some[0], some[0], some[1]]
            caller.run(matrices, (bool(turn & 1), bool(turn & 2)), turn, put=turn > 2)
