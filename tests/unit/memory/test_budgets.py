"""Programs that want more memory than there is: a located error, and all as it was before.

Each runs in both executors, which must end in the same words at the same record.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnx import parser

import reference_vm as rv
from reference_vm.devices.machine_memory import RESERVE, Machine
from reference_vm.ir.nodes import Module
from reference_vm.session import Session
from tests.unit.native.both import Both, seen

MIB = 1 << 20

DOUBLING = """
  fn @main(%x: f32[n] @host, %k: i64[] @host) -> f32[?] @host { %r = @grow(%x, %k) return %r }
  fn @grow(%x: f32[n] @host, %k: i64[] @host) -> f32[?] @host {
    %zero = const i64[] 0
    %more = greater(%k, %zero)
    %r: f32[?] @host = if %more {
      %one = const i64[] 1
      %m = subtract(%k, %one)
      %y = concat(%x, %x, axis = 0) AT
      %s = @grow(%y, %m)
      %t = exp(%s)
      yield %t
    } else { %z: f32[?] @host = exp(%x) yield %z }
    return %r
  }"""

PLANNED = """
  fn @main(%x: f32[n] @host) -> f32[3] @host {
    %a = cumulative_sum(%x, axis = 0) AT
    %b = cumulative_sum(%a, axis = 0) AT
    %i = const i64[3] [0, 1, 2]
    %c = take(%b, %i, axis = 0) AT
    return %c
  }"""

LARGE = """
  fn @main(%x: f32[n] @host) -> f32[n, 1024, 1024] @host {
    %s = shape [n, 1024, 1024]
    %one = const f32[] 1.0
    %a = full(%s, %one) AT
    %b = exp(%a) AT
    return %b
  }"""

ARANGE = """
  fn @main(%n: i64[] @host) -> i64[?] @host {
    %zero = const i64[] 0
    %one = const i64[] 1
    %r = arange(%zero, %n, %one) AT
    return %r
  }"""

CLOSURES = """
  type List { Nil, Cons((f32[1000] @host) -> f32[1000] @host, List) }
  fn @main(%x: f32[1000] @host, %k: i64[] @host) -> f32[1000] @host {
    %nil = Nil()
    %l = @build(%x, %k, %nil)
    %r = @apply(%l, %x)
    return %r
  }
  fn @build(%x: f32[1000] @host, %k: i64[] @host, %l: List) -> List {
    %zero = const i64[] 0
    %more = greater(%k, %zero)
    %r = if %more {
      %one = const i64[] 1
      %m = subtract(%k, %one)
      %y = add(%x, %x) AT
      %f = fn(%z: f32[1000] @host) -> f32[1000] @host { %p = add(%z, %y) return %p }
      %c = Cons(%f, %l)
      %s = @build(%x, %m, %c)
      yield %s
    } else { yield %l }
    return %r
  }
  fn @apply(%l: List, %x: f32[1000] @host) -> f32[1000] @host {
    %r = match %l {
      Cons(%f, %rest) => { %y = %f(%x) %s = @apply(%rest, %y) yield %s }
      Nil => { yield %x }
    }
    return %r
  }"""

STACKING = """<ir_version: 8, opset_import: ["" : 17]>
agraph (int64 m, float[n] x) => (float[n] y, float[k, n] rows) {
  y, rows = Loop (m, , x) <body =
      b (int64 i, bool c, float[n] v) => (bool go, float[n] w, float[n] r) {
     go = Identity(c)
     w = Mul(v, v)
     r = Add(w, x)
  }>
}"""

ENDLESS = """<ir_version: 8, opset_import: ["" : 17]>
agraph (int64 m, float[n] x) => (float[n] y, float[k, n] rows) {
  yes = Constant<value = bool {1}>()
  y, rows = Loop (, yes, x) <body =
      b (int64 i, bool c, float[n] v) => (bool go, float[n] w, float[n] r) {
     go = Less(i, m)
     w = Mul(v, v)
     r = Add(w, x)
  }>
}"""

ONES = np.ones(1000, np.float32)


def number(value: int) -> Any:
    return np.array(value, np.int64)


@dataclass(frozen=True)
class Greedy:
    """A program, arguments with which it fits a MiB, and some with which it does not."""

    text: str
    modest: tuple[Any, ...]
    greedy: tuple[Any, ...]
    at: str
    """What is said of the instruction that fails."""

    def module(self, at: str) -> Module:
        if self.text.startswith("<"):
            return rv.from_onnx(parser.parse_model(self.text))
        return rv.parse(
            f"module {{\n  vdevice @host, @accel{self.text.replace('AT', f'@{at}')}\n}}"
        )


PROGRAMS: Mapping[str, Greedy] = {
    "recursion that doubles": Greedy(
        DOUBLING, (ONES, number(2)), (ONES, number(40)), "concat (%grow/%y)"
    ),
    "storage that was planned": Greedy(
        PLANNED, (ONES,), (np.ones(200_000, np.float32),), "(%main/"
    ),
    "results of large dims": Greedy(LARGE, (ONES[:0],), (ONES[:2],), "(%main/"),
    "size that data says": Greedy(ARANGE, (number(1000),), (number(10**9),), "arange (%main/%r): "),
    "closures that capture": Greedy(
        CLOSURES, (ONES, number(9)), (ONES, number(10**6)), "add (%build/%y)"
    ),
    "loop that stacks until it ends": Greedy(
        ENDLESS, (number(9), ONES[:700]), (number(10**6), ONES[:700]), "(%loop"
    ),
    "loop that stacks": Greedy(STACKING, (number(9), ONES), (number(10**6), ONES), "(%main/%y"),
}


@pytest.mark.parametrize("checked", [False, True], ids=["", "checked"])
@pytest.mark.parametrize(
    ("name", "at"),
    [(n, "host") for n in PROGRAMS] + [(n, "accel") for n, p in PROGRAMS.items() if "AT" in p.text],
)
def test_what_does_not_fit_ends_located_and_the_session_works_on(
    name: str, at: str, checked: bool
) -> None:
    program = PROGRAMS[name]
    compiled = rv.compile(program.module(at), "host=cpu:0,accel=sim:0")
    both = Both(compiled, checked=checked, memory="host=1MiB,accel=1MiB")
    right = [session.run("main", *program.modest) for session in (both.native, both.interpreted)]
    both.check("main", *program.greedy)
    found = seen(both.native, "main", program.greedy)
    assert found.ended[0] == "error"
    assert found.ended[1].startswith("error[out-of-memory]: ")
    assert program.at in found.ended[1]
    device = "cpu:0" if at == "host" else "sim:0"
    assert f": {device} cannot allocate " in found.ended[1]
    assert f" of {MIB} bytes are in use" in found.ended[1]
    assert not any(found.left.values())
    assert all(peak <= MIB for peak in found.peaks.values())
    again = [session.run("main", *program.modest) for session in (both.native, both.interpreted)]
    for one, other in zip(right, again, strict=True):
        np.testing.assert_equal(one, other)


def test_budget_may_be_filled_to_the_last_byte() -> None:
    module = rv.parse("module { fn @main(%x: f32[n]) -> f32[n] { %r = exp(%x) return %r } }")
    program = rv.compile(module)
    for interpreter in (True, False):
        session = Session(program, memory={"host": 4000}, interpreter=interpreter)
        assert session.memory()["cpu:0"].limit == 4000
        session.run("main", ONES)
        assert session.memory()["cpu:0"].peak == 4000
        with pytest.raises(rv.ExecutionError, match="cannot allocate 4004 bytes: 0 of 4000 bytes"):
            session.run("main", np.ones(1001, np.float32))
        assert session.memory()["cpu:0"].current == 0


def test_what_a_caller_put_counts_against_the_budget() -> None:
    module = rv.parse("module { fn @main(%x: f32[n]) -> f32[n] { %r = exp(%x) return %r } }")
    for interpreter in (True, False):
        session = Session(rv.compile(module), memory="cpu:0=6000", interpreter=interpreter)
        put = session.put(ONES, "cpu:0")
        with pytest.raises(rv.ExecutionError, match="cannot allocate 4000 bytes: 4000 of 6000"):
            session.run("main", put)
        with pytest.raises(rv.ExecutionError, match="out-of-memory"):
            session.put(ONES, "cpu:0")
        assert session.memory()["cpu:0"].current == 4000


def test_result_that_the_machine_cannot_hold_twice_is_not_delivered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = rv.parse("module { fn @main(%x: f32[n]) -> f32[n] { %r = exp(%x) return %r } }")
    large = np.ones((6 << 20) - 100, np.float32)
    for interpreter in (True, False):
        session = Session(rv.compile(module), interpreter=interpreter)
        session.run("main", ONES[:9])
        with monkeypatch.context() as scarce:
            scarce.setattr(Machine, "left", lambda _: RESERVE + 25 * MIB)
            session.run("main", np.ones(1 << 20, np.float32))
            with pytest.raises(
                rv.ExecutionError, match=f"and the machine has {RESERVE + 25 * MIB}"
            ):
                session.run("main", np.ones(7 << 20, np.float32))
            scarce.setattr(Machine, "has", lambda _, nbytes: nbytes != large.nbytes)
            with pytest.raises(rv.ExecutionError, match="out-of-memory"):
                session.run("main", large)
        assert session.memory()["cpu:0"].current == 0
        assert session.memory()["cpu:0"].peak == large.nbytes, "it was computed"


def test_constants_count_against_the_budget() -> None:
    module = rv.parse(
        "module { fn @main(%x: f32[2]) -> f32[2] { %k = const f32[2] [1, 2] %r = add(%x, %k)"
        " return %r } }"
    )
    with pytest.raises(rv.ExecutionError, match=r"const \(%main/%k\): cpu:0 cannot allocate 8 by"):
        Session(rv.compile(module), memory="host=7")


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        ("host=much", "memory-size"),
        ("elsewhere=1MiB", "unknown-vdevice"),
        ({"host": -1}, "expected a number of bytes"),
        ({"host": 1.5}, "expected a number of bytes"),
        (7, "sizes such as accel=64MiB"),
    ],
)
def test_budget_that_cannot_be_read_is_refused(memory: Any, words: str) -> None:
    module = rv.parse("module { fn @main(%x: f32[n]) -> f32[n] { %r = exp(%x) return %r } }")
    with pytest.raises(rv.CompileError, match=words):
        Session(rv.compile(module), memory=memory)


def test_least_of_several_budgets_of_a_device_holds() -> None:
    module = rv.parse("module { fn @main(%x: f32[n]) -> f32[n] { %r = exp(%x) return %r } }")
    session = Session(rv.compile(module), memory="cpu:0=5000,host=9000")
    assert session.memory()["cpu:0"].limit == 5000


SCRIPT = """
import resource, sys
import numpy as np
import reference_vm as rv
from reference_vm.session import Session
from tests.unit.memory.test_budgets import PROGRAMS

program = PROGRAMS["recursion that doubles"]
session = Session(
    rv.compile(program.module("host"), "accel=sim:0"), interpreter=sys.argv[1] == "interpreted"
)
right = session.run("main", *program.modest)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
limits = (size + (400 << 20),) * 2
resource.setrlimit(resource.RLIMIT_AS, limits)
for made in (session, Session(session.program, interpreter=sys.argv[1] == "interpreted")):
    for _ in range(2):
        try:
            made.run("main", *program.greedy)
        except rv.ExecutionError as error:
            (found,) = error.diagnostics
            assert found.code == "out-of-memory", error
            assert found.span is not None
        else:
            raise AssertionError("it must fail")
        assert made.memory()["cpu:0"].current == 0
        assert made.memory()["cpu:0"].peak > 50 << 20
        np.testing.assert_array_equal(made.run("main", *program.modest), right)
assert made.memory()["cpu:0"].limit <= limits[0]
print("worked on")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps RLIMIT_AS and has /proc")
@pytest.mark.parametrize("executor", ["native", "interpreted"])
def test_process_with_little_address_space_works_on(executor: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), executor]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (run.stdout, run.stderr, run.returncode) == ("worked on\n", "", 0)
