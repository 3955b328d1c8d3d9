"""Random placed programs compute the same, however they are compiled, and leave nothing behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv

UNARY = ("negative", "abs", "relu", "square")
BINARY = ("add", "subtract", "multiply", "maximum")
ROLES = ("", " @host", " @accel", " @other")
MAP = "host=cpu:0,accel=sim:0,other=sim:1"


@dataclass(frozen=True)
class Program:
    body: tuple[str, ...]
    result: str

    @property
    def text(self) -> str:
        lines = "\n".join(f"    {line}" for line in self.body)
        return (
            "module {\n  vdevice @host, @accel, @other\n"
            "  fn @main(%p: bool[], %v0: f32[n, 4], %v1: f32[n, 4]) -> f32[n, 4] @host {\n"
            f"{lines}\n    return {self.result}\n  }}\n}}\n"
        )


@st.composite
def programs(draw: st.DrawFn) -> Program:
    body: list[str] = []
    names = ["%v0", "%v1"]

    def operation(known: list[str]) -> str:
        role = draw(st.sampled_from(ROLES))
        if draw(st.booleans()):
            op, x = draw(st.sampled_from(UNARY)), draw(st.sampled_from(known))
            return f"{op}({x}){role}"
        op = draw(st.sampled_from(BINARY))
        return f"{op}({draw(st.sampled_from(known))}, {draw(st.sampled_from(known))}){role}"

    for index in range(2, draw(st.integers(3, 10))):
        name = f"%v{index}"
        if draw(st.integers(0, 4)) == 0:
            arms = []
            for arm in "ab":
                inner = f"%{arm}{index}"
                arms.append(f"{{ {inner} = {operation(names)} yield {inner} }}")
            body.append(f"{name} = if %p {arms[0]} else {arms[1]}")
        else:
            body.append(f"{name} = {operation(names)}")
        names.append(name)
    return Program(tuple(body), names[-1])


OPTIONS = (
    {"fuse": False, "plan_memory": False, "executor": "numpy"},
    {"fuse": False, "plan_memory": True, "executor": "numpy"},
    {"fuse": True, "plan_memory": False},
    {"fuse": True, "plan_memory": True},
)


@pytest.mark.parametrize("policy", ["copy", "replicate"])
@settings(max_examples=25, deadline=None)
@given(program=programs(), size=st.integers(0, 3), condition=st.booleans())
def test_all_ways_of_compiling_agree(
    policy: str, program: Program, size: int, condition: bool
) -> None:
    module = rv.parse(program.text)
    x = np.linspace(-1, 1, 4 * size, dtype=np.float32).reshape(size, 4)
    args = (np.array(condition), x, x * 2 - 1)
    expected = rv.Session(
        rv.compile(module, "host=cpu:0,accel=cpu:0,other=cpu:0", fuse=False, executor="numpy")
    ).run("main", *args)
    for options in OPTIONS:
        compiled = rv.compile(module, MAP, policy=policy, check=True, **options)
        session = rv.Session(compiled, checked=True)
        np.testing.assert_array_equal(session.run("main", *args), expected)
        assert {m.current for m in session.memory().values()} == {0}
        for record in session.trace:
            if record.kind != "copy":
                assert {a.device for a in (*record.reads, *record.writes)} <= {record.device}
