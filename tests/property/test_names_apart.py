"""Names mean nothing: a program and its twin, whose names coincide, do the same in every way.

Twins call functions, variables, roles, symbols, data types and constructors by the names of a pool,
so whatever takes a name for one of another kind makes the twin another program.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from hettest.language import from_json, to_json
from reference_vm.ir import rewrite, structural
from reference_vm.oracle.estimate import Estimate
from reference_vm.oracle.evaluate import evaluate
from reference_vm.runtime.trace import Access, Record
from tests.dynamic.generating import generate
from tests.property.callee_programs import ARGUMENTS, callee_program
from tests.property.renaming import Twin, nameless, twin

OPTIONS: Final[tuple[Mapping[str, Any], ...]] = (
    {},
    {"fuse": False, "plan_memory": False, "executor": "numpy"},
    {"default": "accel"},
    {"policy": "replicate"},
)
SEEDS: Final = st.integers(0, 2**32 - 1)
EXAMPLES: Final = settings(max_examples=20, deadline=None)


def arguments(seed: int) -> tuple[Any, ...]:
    """Return what to call the ``main`` of a callee program with."""
    rng = random.Random(seed)
    tensors = [
        np.array([rng.randrange(-4, 5) for _ in range(3)], np.float32) for _ in range(ARGUMENTS)
    ]
    return np.array(rng.random() < 0.5), np.array(rng.randrange(4)), *tensors


def compiled(
    module: rv.Module, roles: Mapping[str, str], options: Mapping[str, Any]
) -> rv.Program | list[str]:
    """Return the program for a host and an accelerator, or the codes of what is wrong."""
    named = dict(options)
    if "default" in named:
        named["default"] = f"@{roles[named['default']]}"
    where = f"@{roles['host']}=cpu:0,@{roles['accel']}=sim:0"
    try:
        return rv.compile(module, where, check=True, **named)
    except rv.CompileError as error:
        return sorted(d.code for d in error.diagnostics)


def outcome(program: rv.Program, entry: str, args: tuple[Any, ...]) -> tuple[Any, list[Record]]:
    """Return the bytes of the results, or the code of the error, and what ran."""
    session = rv.Session(program, checked=True)
    try:
        found: Any = list(_bytes(session.run(entry, *args)))
    except rv.ExecutionError as error:
        return error.diagnostics[0].code, []
    return found, list(session.trace)


def _bytes(value: Any) -> Any:
    if isinstance(value, tuple):
        for item in value:
            yield from _bytes(item)
    elif not isinstance(value, str):  # the name of a constructor
        yield value.dtype, value.shape, value.tobytes()


def done(record: Record, variables: Mapping[str, str]) -> tuple[Any, ...]:
    """Return what a record says, but for its names; those of variables are the twin's."""

    def called(name: str | None) -> str | None:
        if name is None:
            return None
        whole, item, index = name.partition("[")  # an item of a tuple
        return f"{variables.get(whole, whole)}{item}{index}"

    def used(access: Access) -> tuple[Any, ...]:
        return called(access.value), access.device, access.length

    cause = record.cause
    return (
        *(record.kind, record.ops, record.device, record.bytes, record.source, record.target),
        *(tuple(map(called, record.defines)), tuple(map(used, record.reads))),
        tuple(map(used, record.writes)),
        None if cause is None else (cause.kind, called(cause.value), called(cause.reader)),
    )


def difference(module: rv.Module, other: Twin, options: Mapping[str, Any], args: Any) -> str:
    """Return how a program and its twin differ; nothing if they do not."""
    same = {v.role: v.role for v in module.vdevices}
    one, two = compiled(module, same, options), compiled(other.module, other.roles, options)
    if isinstance(one, list) or isinstance(two, list):
        left, right = (p if isinstance(p, list) else "a program" for p in (one, two))
        return "" if left == right else f"compiles to {left}, its twin to {right}"
    found, trace = outcome(one, "main", args)
    twins, twins_trace = outcome(two, other.functions["main"], args)
    if found != twins:
        return f"gives {found}, its twin {twins}"
    left_done = [done(r, other.variables) for r in trace]
    right_done = [done(r, {}) for r in twins_trace]
    for index, (a, b) in enumerate(zip(left_done, right_done, strict=False)):
        if a != b:
            return f"does {a} in step {index}, its twin {b}"
    more = len(left_done), len(right_done)
    return "" if len(left_done) == len(right_done) else f"takes {more[0]} steps, its twin {more[1]}"


def through_text(other: Twin) -> Twin:
    text = rv.print_module(other.module)
    read = rv.parse(text)
    assert rv.print_module(read) == text
    return Twin(read, other.functions, other.roles, other.variables)


def check(text: str, args: Any, seed: int, options: Mapping[str, Any]) -> None:
    module = rv.parse(text)
    other = through_text(twin(module, random.Random(seed)))
    found = difference(module, other, options, args)
    assert not found, f"{found}\n{text}\n{rv.print_module(other.module)}"


@EXAMPLES
@given(SEEDS, st.sampled_from(OPTIONS))
def test_calls_are_the_same_whatever_their_names(seed: int, options: Mapping[str, Any]) -> None:
    check(callee_program(seed), arguments(seed), seed, options)


@EXAMPLES
@given(st.integers(0, 5000), st.sampled_from(OPTIONS))
def test_dynamic_programs_are_the_same_whatever_their_names(
    seed: int, options: Mapping[str, Any]
) -> None:
    program = generate(seed)
    check(program.text, program.args, seed, options)


@EXAMPLES
@given(SEEDS)
def test_variables_of_one_name_are_apart(seed: int) -> None:
    """In a module that was built, not read, all variables may have one name."""
    module = rv.parse(callee_program(seed))
    same = {v.role: v.role for v in module.vdevices}
    one, two = compiled(module, same, {}), compiled(nameless(module), same, {})
    assert isinstance(one, rv.Program)
    assert isinstance(two, rv.Program)

    found, trace = outcome(one, "main", arguments(seed))
    others, others_trace = outcome(two, "main", arguments(seed))

    assert found == others
    left = {
        f"{f.name}/%{v.name}": f"{f.name}/%f"
        for f in module.functions
        for v in (*f.params, *rewrite.bound(f.body))
    }
    assert [done(r, left) for r in trace] == [done(r, {}) for r in others_trace]


@EXAMPLES
@given(SEEDS)
def test_twins_mean_the_same(seed: int) -> None:
    """The oracle, too, takes no name for another one."""
    module = rv.parse(callee_program(seed))
    other = through_text(twin(module, random.Random(seed)))
    meant = evaluate(other.module, other.functions["main"], arguments(seed))
    program = compiled(other.module, other.roles, {})
    assert isinstance(program, rv.Program)

    found = rv.Session(program).run(other.functions["main"], *arguments(seed))

    assert isinstance(meant.result, tuple)
    for array, estimate in zip(found, meant.result, strict=True):
        assert isinstance(estimate, Estimate)
        np.testing.assert_array_equal(array, estimate.value)  # whole numbers: nothing is rounded


@EXAMPLES
@given(SEEDS)
def test_twins_come_back_from_every_form(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    module = rv.parse(callee_program(seed))
    other = twin(module, random.Random(seed))
    program = compiled(other.module, other.roles, {})
    assert isinstance(program, rv.Program)
    path = tmp_path_factory.mktemp("twin") / "twin.rvm"
    program.save(path)

    loaded = rv.load(path, check=True)

    entry, args = other.functions["main"], arguments(seed)
    found, trace = outcome(loaded, entry, args)
    fresh, fresh_trace = outcome(program, entry, args)
    assert found == fresh
    assert [done(r, {}) for r in trace] == [done(r, {}) for r in fresh_trace]
    assert structural.equal(from_json(to_json(other.module)), other.module)
    assert structural.equal(rv.parse(rv.print_module(program.module)), program.module)


LEAKS: Final = """
module {
  fn @negated(%q: f32[k]) -> f32[k] { %r = negative(%q) return %r }
  fn @apply(%g: (f32[m]) -> f32[m], %p: f32[m]) -> f32[m] { %r = %g(%p) return %r }
  fn @main(%x: f32[n], %y: f32[SYMBOL]) -> f32[SYMBOL] attrs { entry = true } {
    %r = CALL
    %s = add(%r, %y)
    return %s
  }
}
"""


@pytest.mark.parametrize("symbol", ["w", "m", "k"])
@pytest.mark.parametrize("call", ["@apply(@negated, %x)", "%named(%x)"])
def test_symbols_of_two_functions_are_two(symbol: str, call: str) -> None:
    """What is of ``n`` is not taken for ``m``, since a function that is called calls it so."""
    text = LEAKS.replace("SYMBOL", symbol).replace("CALL", call)
    if "named" in call:
        text = text.replace("    %r = ", "    %named = @negated\n    %r = ")

    with pytest.raises(rv.CompileError, match=rf"found f32\[\?\], expected f32\[{symbol}\]"):
        rv.compile(rv.parse(text), "host=cpu:0")


def test_a_wrong_call_of_a_closure_is_said_of_the_closure() -> None:
    text = """module { fn @main(%x: f32[3]) -> f32[3] {
      %f = fn (%y: f32[3]) -> f32[3] { return %y }
      %r = %f(%x, %x)
      return %r
    } }"""

    with pytest.raises(rv.CompileError, match="%f: found 2 arguments, expected 1"):
        rv.compile(rv.parse(text), "host=cpu:0")


def test_symbols_with_points_come_back_from_files(tmp_path: Path) -> None:
    text = "module { fn @main(%x: f32[batch.size]) -> f32[batch.size] { %y = abs(%x) return %y } }"
    rv.compile(rv.parse(text), "host=cpu:0").save(tmp_path / "points.rvm")

    loaded = rv.load(tmp_path / "points.rvm", check=True)

    np.testing.assert_array_equal(
        rv.Session(loaded).run("main", np.array([-1, 2], np.float32)), [1, 2]
    )


def test_a_field_of_unknown_type_may_be_moved_and_shown() -> None:
    """Of ``Empty`` nothing says what the fields of other constructors are."""
    text = """module {
      vdevice @host, @accel
      type Box[T] { Empty, Full((T) -> T, T) }
      fn @main(%x: f32[3]) -> f32[3] {
        %b: Box[f32[3]] = Empty()
        %r = match %b {
          Full(%f, %y) => {
            %v = %f(%y) @accel
            %three = const i64[1] [3]
            %u = reshape(%v, %three)
            yield %u
          }
          Empty => { yield %x }
        }
        return %r
      }
    }"""
    program = rv.compile(rv.parse(text), "host=cpu:0,accel=sim:0", check=True)

    assert rv.Session(program).run("main", np.ones(3, np.float32)).tolist() == [1, 1, 1]
