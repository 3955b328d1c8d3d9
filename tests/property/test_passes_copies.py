"""Copies are as many as `planning.md` says, counted apart from the compiler, on every path."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.diagnostics import CompileError
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Binding, Block, Call, Function, If, Var, operands
from reference_vm.passes.context import Policy
from tests.property.placed_programs import Program, Statement, program
from tests.property.test_passes import SEEDS, compiled

MANY = settings(max_examples=100, deadline=None)


@MANY
@given(SEEDS)
def test_straight_line_copies_are_those_of_the_definition(seed: int) -> None:
    written = program(random.Random(seed), explicit=True)
    (function,) = compiled(written.text()).functions

    made = sum(1 for b in rewrite.walk(function.body) if _is_copy(b))

    assert made == expected_copies(_alive(written))


def _alive(written: Program) -> Program:
    """Return the program without repeated and dead statements, as the compiler sees it."""
    renamed: dict[str, str] = {}
    seen: dict[tuple[str, tuple[str, ...], str], str] = {}
    kept: list[Statement] = []
    for s in written.statements:
        reads = tuple(renamed.get(o, o) for o in s.operands)
        first = seen.setdefault((s.operator, reads, s.suffix), s.name)
        renamed[s.name] = first
        if first == s.name:
            kept.append(Statement(s.name, s.operator, reads, s.suffix))
    result = renamed[written.result]
    read, alive = {result}, list[Statement]()
    for s in reversed(kept):
        if s.name in read:
            read.update(s.operands)
            alive.append(s)
    return Program(written.params, alive[::-1], result, written.result_place, written.names)


def expected_copies(written: Program) -> int:
    """Return the sum over all values of how many devices need or make it, less one."""
    home = {s.name: s.suffix.strip(" @") for s in written.statements}
    need: dict[str, set[str]] = {n: set() for n in (*written.names, *home)}
    for s in written.statements:
        for name in s.operands:
            need[name].add(home[s.name])
    if written.result_place:
        need[written.result].add(written.result_place.strip(" @"))
    for text, name in zip(written.params, written.names, strict=False):
        pinned = text.partition("] @")[2]
        order = [d for d in ("host", "a", "b") if d in need[name]]
        home[name] = pinned or (order[0] if order else "host")
    return sum(len(need[n] | {home[n]}) - 1 for n in need)


def _is_copy(binding: Binding) -> bool:
    return isinstance(binding.value, Call) and binding.value.op == "device_copy"


@MANY
@given(SEEDS)
def test_no_path_makes_a_copy_that_it_does_not_read(seed: int) -> None:
    text = program(random.Random(seed), branches=True).text()
    (function,) = compiled(text, until="insert-copies").functions

    for path in paths(function):
        read = {v for b in path for v in operands(b.value)} | {function.body.result}
        read |= {result for b in path for result in _yields(b)}
        idle = [b.var.name for b in path if _is_copy(b) and b.var not in read]
        assert not [n for n in idle if not _is_explicit(function, n)]


def _is_explicit(function: Function, name: str) -> bool:
    return any(
        b.var.name == name
        and isinstance(b.value, Call)
        and b.value.attrs.get("cause") == "explicit"
        for b in rewrite.walk(function.body)
    )


def _yields(binding: Binding) -> Iterator[Var]:
    if isinstance(binding.value, If):
        yield from (binding.value.then.result, binding.value.orelse.result)


@MANY
@given(SEEDS)
def test_a_path_copies_a_value_to_a_device_again_only_after_an_arm(seed: int) -> None:
    """Within one block and those around it, a value is copied to a device once."""
    (function,) = compiled(program(random.Random(seed), branches=True).text()).functions

    def check(block: Block, around: frozenset[tuple[Var, str]]) -> None:
        seen = set(around)
        for binding in block.bindings():
            if isinstance(binding.value, If):
                check(binding.value.then, frozenset(seen))
                check(binding.value.orelse, frozenset(seen))
            if _is_copy(binding) and not _is_explicit(function, binding.var.name):
                (source,) = operands(binding.value)
                key = (source, binding.var.vdevice.role)
                assert key not in seen, key
                seen.add(key)

    check(function.body, frozenset())


def paths(function: Function) -> Iterator[list[Binding]]:
    """Yield the bindings that run on each path through ``function``."""
    branches = [b.var for b in rewrite.walk(function.body) if isinstance(b.value, If)]
    for taken in product((True, False), repeat=min(len(branches), 6)):
        yield list(_run(function.body, dict(zip(branches, taken, strict=False))))


def _run(block: Block, taken: dict[Var, bool]) -> Iterator[Binding]:
    for binding in block.bindings():
        if isinstance(binding.value, If):
            arm = binding.value.then if taken.get(binding.var, True) else binding.value.orelse
            yield from _run(arm, taken)
        yield binding


@MANY
@given(st.integers(0, 2**32 - 1))
def test_policy_error_refuses_exactly_what_policy_copy_would_read(seed: int) -> None:
    text = program(random.Random(seed), explicit=True).text()
    (function,) = compiled(text).functions
    reads = any(
        isinstance(b.value, Call) and b.value.attrs.get("cause") == "read"
        for b in rewrite.walk(function.body)
    )

    refused = False
    try:
        compiled(text, Policy.ERROR)
    except CompileError as error:
        refused = error.diagnostics[0].code == "value-on-two-devices"

    assert refused == reads
