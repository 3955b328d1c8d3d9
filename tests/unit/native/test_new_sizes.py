"""Sizes that a session has not met: the loop plans them itself, and as the kernels say."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from reference_vm.bytecode.instructions import Launch
from reference_vm.jit.words import load
from reference_vm.runtime.native import plans as plans_module
from reference_vm.runtime.native import records
from reference_vm.runtime.native.executor import NativeExecutor
from reference_vm.runtime.native.heap import read
from reference_vm.runtime.native.layout import WORD, Instance, Job, Plan, State
from reference_vm.runtime.native.recipes import written
from reference_vm.session import Session
from tests.unit.native.both import Both
from tests.unit.native.programs import Sample

CHAIN = """
fn @main(%x: f32[n], %y: f32[n]) -> f32[n] {
  %a = add(%x, %y)
  %b = multiply(%a, %y)
  %c = add(%b, %x)
  return %c
}
"""

BROADCAST = """
fn @main(%x: f32[n, m], %y: f32[m], %z: f32[n, 1], %w: f32[k, m]) -> (f32[n, m], f32[n]) {
  %a = add(%x, %y)
  %b = multiply(%a, %z)
  %s = sum(%b, axis = [1])
  %t = softmax(%b)
  %r = (%t, %s)
  return %r
}
"""

PRODUCTS = """
fn @main(%x: f32[b, n, 24], %w: f32[24, 40], %g: f32[40], %s: f32[40]) -> (f32[b, n, n], f32[n, b, 40]) {
  %p = matmul(%x, %w)
  %q = layer_norm(%p, %g, %s)
  %u = permute_dims(%q, axes = [0, 2, 1])
  %a = matmul(%q, %u)
  %t = softmax(%a)
  %v = permute_dims(%p, axes = [1, 0, 2])
  %r = (%t, %v)
  return %r
}
"""  # noqa: E501

JOINED = """
fn @main(%x: f32[n, 3], %y: f32[m, 3], %i: i64[k]) -> (f32[?, 3], f32[k, 3]) {
  %a = concat(%x, %y, axis = 0)
  %b = take(%x, %i, axis = 0)
  %r = (%a, %b)
  return %r
}
"""

CALLED = """
fn @main(%x: f32[n], %y: f32[m]) -> f32[n] {
  %a = @twice(%x)
  %b = @twice(%y)
  %c = @twice(%a)
  return %c
}
fn @twice(%x: f32[k]) -> f32[k] {
  %y = add(%x, %x)
  %z = multiply(%y, %x)
  return %z
}
"""

CAST = """
fn @main(%x: f32[?, m], %y: f32[?]) -> (f32[?, m], f32[?], i64[2]) {
  %a: f32[k, m] = match_cast(%x)
  %b: f32[j] = match_cast(%y)
  %c: f32[k, m] = match_cast(%a)
  %d = add(%a, %c)
  %e = multiply(%b, %b)
  %s = shape_of(%d)
  %t = shape_to_tensor(%s)
  %r = (%d, %e, %t)
  return %r
}
"""

MULTIPLE = """
fn @main(%x: f32[n], %y: f32[?]) -> f32[?] {
  %a: f32[2*n] = match_cast(%y)
  %b = add(%a, %a)
  return %b
}
"""

EXPANDED = """
fn @main(%x: f32[n, 1], %y: f32[m], %z: f32[1, n, 1]) -> (f32[n, m], f32[1, n, m], f32[3, n, 2]) {
  %s = shape [n, m]
  %a = broadcast_to(%x, %s)
  %b = expand(%z, %s)
  %t = shape [3, 1, 2]
  %c = expand(%x, %t)
  %r = (%a, %b, %c)
  return %r
}
"""

SQUARE = """
fn @main(%x: f32[z, n]) -> f32[n, n] {
  %t = permute_dims(%x, axes = [1, 0])
  %y = matmul(%t, %x)
  return %y
}
"""


def floats(*dims: int) -> Any:
    return np.random.default_rng(sum(dims)).normal(size=dims).astype(np.float32)


def chain(n: int, m: int, k: int) -> Sequence[Any]:
    return floats(n), floats(n)


def broadcast(n: int, m: int, k: int) -> Sequence[Any]:
    return floats(n, m), floats(m), floats(n, 1), floats(k, m)


def products(n: int, m: int, k: int) -> Sequence[Any]:
    return floats(m, n, 24), floats(24, 40), floats(40), floats(40)


def joined(n: int, m: int, k: int) -> Sequence[Any]:
    n = max(n, 1)
    return floats(n, 3), floats(m, 3), np.arange(k, dtype=np.int64) % n


def called(n: int, m: int, k: int) -> Sequence[Any]:
    return floats(n), floats(m)


def cast(n: int, m: int, k: int) -> Sequence[Any]:
    return floats(n, m), floats(k)


def expanded(n: int, m: int, k: int) -> Sequence[Any]:
    return floats(n, 1), floats(m), floats(1, n, 1)


PROGRAMS = {
    "chain": (CHAIN, chain),
    "broadcast": (BROADCAST, broadcast),
    "products": (PRODUCTS, products),
    "joined": (JOINED, joined),
    "called": (CALLED, called),
    "cast": (CAST, cast),
    "expanded": (EXPANDED, expanded),
}


def sizes(seed: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield sizes, 0 and 1 and equal ones among them."""
    rng = random.Random(seed)
    for _ in range(count):
        n, m, k = (rng.choice((0, 1, 1, 2, 3, rng.randrange(4, 70))) for _ in range(3))
        yield rng.choice(((n, m, k), (n, n, k), (n, m, m)))


def native(session: Session) -> NativeExecutor:
    assert session._native is not None
    return session._native


def session_of(text: str, *, fuse: bool = True) -> Session:
    return Session(Sample(text, [], fuse=fuse).compiled())


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_executors_do_the_same_for_any_sizes(name: str) -> None:
    text, arguments = PROGRAMS[name]
    both = Both(Sample(text, []).compiled())
    for n, m, k in ((5, 7, 3), (6, 4, 2), *sizes(1, 25)):
        wrong = list(both.differences("main", *arguments(n, m, k)))
        assert not wrong, f"{n}, {m}, {k}: {wrong}"


@pytest.mark.parametrize("name", ["chain", "broadcast", "called", "cast", "expanded"])
def test_a_new_size_needs_no_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, arguments = PROGRAMS[name]
    session = session_of(text)
    for n in range(4, 70, 2):
        session.run("main", *arguments(n, n + 1, n - 3))
    executor = native(session)

    def refuse(*_: Any) -> None:
        raise AssertionError("this was left to Python")

    monkeypatch.setattr(executor, "_with_python", refuse)
    for n in range(9, 60, 2):
        session.run("main", *arguments(n, n + 1, n - 3))


def test_a_cast_that_does_not_fit_is_the_interpreters_error() -> None:
    both = Both(Sample(MULTIPLE, []).compiled())
    for n, m in ((3, 6), (4, 8), (5, 11), (6, 12), (0, 0), (0, 1), (7, 13)):
        wrong = list(both.differences("main", floats(n), floats(m)))
        assert not wrong, f"{n}, {m}: {wrong}"


def test_launches_of_a_kernel_on_operands_alike_share_their_plan() -> None:
    lines = [f"%v{i + 1} = add(%v{i}, %v0)" for i in range(20)]
    text = f"fn @main(%v0: f32[n]) -> f32[n] {{ {' '.join(lines)} return %v20 }}"
    code = native(session_of(text, fuse=False)).program.codes[0]

    assert code.instance_words < 10


def plans(executor: NativeExecutor) -> Iterator[int]:
    """Yield all plans that are found by forms."""
    table = load(executor._state, State.PLANS)
    for place in range(records.BUCKETS):
        plan = load(table, place)
        while plan:
            yield plan
            plan = load(plan, Plan.NEXT)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("fuse", [True, False])
def test_plans_are_word_for_word_what_the_kernels_say(name: str, fuse: bool) -> None:
    text, arguments = PROGRAMS[name]
    session = session_of(text, fuse=fuse)
    executor = native(session)
    for n, m, k in sizes(2, 30):
        session.run("main", *arguments(n, m, k))
    program, checked = executor.program, 0
    kernels = {record: i for i, record in enumerate(program.plans.records) if record}
    operands = {
        i.kernel: len(i.args)
        for code in program.image.executable.functions
        for i in code.instructions
        if isinstance(i, Launch)
    }
    for plan in plans(executor):
        number = kernels[load(plan, Plan.KERNEL)]
        count = operands[number]
        forms = read(plan + Plan.FORMS * WORD, count)
        call = program.image.kernels[number].native([program.forms[f].dims for f in forms])
        assert call is not None
        expected = written(call, count, number, load(executor._state, State.WORTH))
        words = read(plan, len(expected.words))
        assert _without_addresses(plan, words, count) == _without_addresses(
            plan, expected.at(plan), count
        )
        results = read(plan + (Plan.FORMS + count) * WORD, len(call.shapes))
        assert tuple(program.forms[f].dims for f in results) == call.shapes
        checked += 1
    assert checked > 5


def _without_addresses(plan: int, words: list[int], operands: int) -> list[int]:
    """Return a plan's words, with 0 for links, forms, and the addresses that each launch writes."""
    found = list(words)
    found[Plan.NEXT] = found[Plan.KERNEL] = 0
    first = (words[Plan.FIRST] - plan) // WORD
    for at in range(Plan.FORMS, (words[Plan.MAP] - plan) // WORD):
        found[at] = 0
    results = (words[Plan.MAP] - plan) // WORD - Plan.FORMS - operands
    for job in range(first, first + words[Plan.STAGES] * Job.WORDS, Job.WORDS):
        block = (words[job + Job.BLOCK] - plan) // WORD
        own = [words[job + w] for w in (Job.SCRATCH_WORD, Job.WORKSPACE_WORD, Job.FAULT_WORD)]
        for at in (*range(words[Plan.ADDRESSES] + results), *(w for w in own if w)):
            found[block + at] = 0
        found[job + Job.SCRATCH] = 0
    return found


def test_sizes_that_no_memory_has_are_the_interpreters_error() -> None:
    both = Both(Sample(SQUARE, []).compiled())
    for n in (3, 4, 5, 1 << 40, 1 << 60, 6):
        wrong = list(both.differences("main", np.zeros((0, n), np.float32)))
        assert not wrong, f"{n}: {wrong}"


def test_symbols_of_instances_made_by_the_loop_are_read_back() -> None:
    session = session_of(CHAIN)
    for n in (5, 6, 7):
        session.run("main", *chain(n, 0, 0))
    program = native(session).program
    table, found = load(native(session)._state, State.INSTANCES), set()
    for place in range(records.BUCKETS):
        instance = load(table, place)
        while instance:
            found.add(program.symbols(instance))
            instance = load(instance, Instance.NEXT)

    assert {(5,), (6,), (7,)} <= found


def test_ever_new_sizes_take_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans_module, "KEPT", 64)
    session = session_of(BROADCAST)
    program = native(session).program
    for n in range(1, 1500):
        session.run("main", *broadcast(n % 37, n, 2))
        assert len(program.forms._known) < 4_000
        assert len(program._instances) <= records.KEPT + 2
        assert len(program.room._chunks) < 8
    x, y, z, w = broadcast(3, 5, 2)
    result, sums = session.run("main", x, y, z, w)
    np.testing.assert_allclose(sums, ((x + y) * z).sum(1), rtol=1e-4, atol=1e-5)
    assert result.shape == (3, 5)
