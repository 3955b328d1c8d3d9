"""Code generation takes and gives up holds so that each value is given back once, on every path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

import reference_vm as rv
from reference_vm.bytecode.disassembler import disassemble
from reference_vm.bytecode.executable import Executable
from reference_vm.bytecode.instructions import Instruction, Kill, Share, leaves_frame
from reference_vm.bytecode.memory_check import memory_problems
from tests.mutants.instructions import rewritten
from tests.unit.functions.programs import COUNTDOWN, LISTS, WAYS, program

SUM = """
fn @sum(%l: List[f32[2]], %acc: f32[2]) -> f32[2] attrs { entry = true } {
  %r = match %l {
    Nil => { yield %acc }
    Cons(%h, %t) => { %a = add(%acc, %h) %q = @sum(%t, %a) yield %q }
  }
  return %r
}
"""
PROGRAMS = {
    "a loop": program(COUNTDOWN),
    "a list": program(LISTS, SUM),
    "a closure": program(
        """fn @main(%x: f32[2], %w: f32[2], %c: bool[]) -> (f32[2], f32[2]) {
          %u = add(%x, %w)
          %g = fn (%y: f32[2]) -> f32[2] { %z = add(%y, %u) return %z }
          %h = fn (%y2: f32[2]) -> f32[2] { %z2 = subtract(%y2, %u) return %z2 }
          %f = if %c { yield %g } else { yield %h }
          %a = %f(%x)
          %b = %f(%a)
          %t = (%b, %u)
          return %t
        }"""
    ),
    "a branch": program(
        """fn @same(%x: f32[2], %i: i64[]) -> f32[2] {
          %zero = const i64[] 0
          %one = const i64[] 1
          %c = greater(%i, %zero)
          %r = if %c { %j = subtract(%i, %one) %q = @same(%x, %j) yield %q } else { yield %x }
          return %r
        }
        fn @main(%x: f32[2], %i: i64[]) -> f32[2] attrs { entry = true } {
          %u = add(%x, %x)
          %zero = const i64[] 0
          %c = greater(%i, %zero)
          %r = if %c { %v = @same(%u, %i) yield %v } else { %w = add(%u, %u) yield %w }
          %s = add(%r, %u)
          return %s
        }"""
    ),
}


def compiled(text: str, way: str = "planned") -> Executable:
    devices = "host=cpu:0,accel=cpu:0"
    return rv.compile(rv.parse(text), devices, **WAYS[way]).executable


def test_a_list_is_taken_apart_and_its_loop_keeps_nothing() -> None:
    assert disassemble(compiled(PROGRAMS["a list"], "unplanned")) == (
        "fn @sum(r0: List[f32[2] @host], r1: f32[2] @host) -> f32[2] @host\n"
        "     0  unless r0 is Nil goto 4\n"
        "     1  kill r0\n"
        "     2  r2 = r1\n"
        "     3  goto 13\n"
        "     4  unless r0 is Cons goto 12\n"
        "     5  r3 = field 0 of r0 as Cons\n"
        "     6  r4 = field 1 of r0 as Cons\n"
        "     7  share r3, r4\n"
        "     8  kill r0\n"
        "     9  r5: f32[2] = launch add(r1, r3) on cpu:0\n"
        "    10  kill r1, r3\n"
        "    11  return call @sum(r4, r5)\n"
        "    12  fail match-failed: no arm of the match takes the value of %l\n"
        "    13  return r2\n"
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_path_loses_a_hold_or_has_one_too_many(name: str, way: str) -> None:
    assert memory_problems(compiled(PROGRAMS[name], way)) == []


def _without(kind: type[Instruction]) -> Callable[[Instruction], Sequence[Instruction]]:
    return lambda instruction: () if isinstance(instruction, kind) else (instruction,)


def _shared_twice(instruction: Instruction) -> Sequence[Instruction]:
    return (instruction,) * (2 if isinstance(instruction, Share) else 1)


BROKEN = {
    "nothing is killed": _without(Kill),
    "nothing is shared": _without(Share),
    "all is shared twice": _shared_twice,
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("name", ["a list", "a closure", "a branch"])
def test_the_memory_checker_sees_a_hold_that_is_missing_or_left(name: str, how: str) -> None:
    executable = compiled(PROGRAMS[name])
    functions = tuple(rewritten(f, BROKEN[how]) for f in executable.functions)
    assert memory_problems(replace(executable, functions=functions))


def test_the_memory_checker_sees_a_call_in_tail_position_that_keeps_memory() -> None:
    executable = compiled(PROGRAMS["a loop"])
    (code,) = executable.functions
    before = [
        at
        for at, instruction in enumerate(code.instructions)
        if leaves_frame(instruction) and isinstance(code.instructions[at - 1], Kill)
    ]
    assert before
    kept = iter(range(len(code.instructions)))
    broken = rewritten(code, lambda i: () if next(kept) + 1 in before else (i,))
    assert memory_problems(replace(executable, functions=(broken,)))
