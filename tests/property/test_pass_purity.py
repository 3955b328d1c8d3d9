"""A pass leaves what it is given alone, and gives the same of the same, however often it runs."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from hettest.case.model import Case
from hettest.corpus import cases, corpus_root
from reference_vm.ir import structural
from reference_vm.ir.nodes import Module
from reference_vm.ops.catalog import OPS
from reference_vm.passes.catalog import PASSES, default_pipeline
from reference_vm.passes.context import Pass, PassContext, Policy
from reference_vm.text import parse, print_module
from reference_vm.types import DeviceMap
from tests.property.placed_programs import MAP, program

SEEDS = st.integers(0, 2**32 - 1)
MANY = settings(max_examples=25, deadline=None)
OPTIONS: dict[str, dict[str, str]] = {"place": {"patterns": "v*=a"}, "split": {"mode": "random:3"}}
NAMES = [p.name for p in default_pipeline()]


def context(device_map: str = MAP) -> PassContext:
    return PassContext(OPS, DeviceMap.parse(device_map), Policy.COPY)


def make(name: str) -> Pass:
    return PASSES[name](**OPTIONS.get(name, {}))


def stages(module: Module, ctx: PassContext) -> Iterator[tuple[str, Module, Module]]:
    """Yield each pass of the pipeline with what it was given and what it gave."""
    for name in NAMES:
        after = make(name).run(module, ctx)
        yield name, module, after
        module = after


def text(seed: int) -> str:
    return program(random.Random(seed), branches=True).text()


@MANY
@given(SEEDS)
def test_no_pass_changes_what_it_is_given(seed: int) -> None:
    for name, before, after in stages(parse(text(seed)), context()):
        shown, digest = print_module(before), structural.digest(before)

        again = make(name).run(before, context())

        assert print_module(before) == shown, name
        assert structural.digest(before) == digest, name
        assert structural.equal(again, after), name


@MANY
@given(SEEDS)
def test_a_deep_copy_gives_the_same(seed: int) -> None:
    for name, before, after in stages(parse(text(seed)), context()):
        assert structural.equal(make(name).run(copy.deepcopy(before), context()), after), name


@MANY
@given(SEEDS)
def test_modules_that_share_a_function_do_not_touch_each_other(seed: int) -> None:
    module = parse(text(seed))
    other = module.with_functions([*module.functions])
    assert other.functions[0] is module.functions[0]
    before = print_module(other)

    for _ in stages(module, context()):
        assert print_module(other) == before


@MANY
@given(SEEDS)
def test_compiling_twice_gives_equal_programs(seed: int) -> None:
    module = parse(text(seed))

    first, second = (rv.compile(module, device_map=MAP) for _ in range(2))

    assert first.executable == second.executable
    assert structural.equal(first.module, second.module)


def hinted() -> list[Case]:
    return [c for c in cases(corpus_root()) if c.id.startswith("bugs/c20_pass_purity/")]


@pytest.mark.parametrize("case", hinted(), ids=lambda c: ",".join((c.id, *c.swept)))
def test_cases_of_the_kind_are_left_alone(case: Case) -> None:
    module = parse(case.text)
    before = print_module(module)

    for name, _, after in stages(module, context("host=cpu:0,accel=sim:0")):
        once = print_module(after)
        assert structural.equal(make(name).run(after, context("host=cpu:0,accel=sim:0")), after)
        assert print_module(after) == once

    assert print_module(module) == before
