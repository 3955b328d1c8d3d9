"""What holds of every pass on random placed programs: contracts, idempotence, order."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference_vm.ir import rewrite, structural
from reference_vm.ir.nodes import Call, Module, Var
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline
from reference_vm.passes.catalog import PASSES, default_pipeline
from reference_vm.passes.context import Pass, PassContext, Policy
from reference_vm.text import parse, print_module
from reference_vm.types import DeviceMap
from tests.property.placed_programs import MAP, Program, program

SEEDS = st.integers(0, 2**32 - 1)
MANY = settings(max_examples=60, deadline=None)
OPTIONS: dict[str, dict[str, str]] = {
    "place": {"patterns": "v*=a"},
    "split": {"mode": "random:3"},
}


def context(policy: Policy = Policy.COPY) -> PassContext:
    return PassContext(OPS, DeviceMap.parse(MAP), policy)


def make(name: str) -> Pass:
    return PASSES[name](**OPTIONS.get(name, {}))


def random_program(seed: int, **options: bool) -> Program:
    return program(random.Random(seed), **options)


def compiled(text: str, policy: Policy = Policy.COPY, until: str = "legalize") -> Module:
    """Return the program of ``text`` after the compiler's passes, up to the one named."""
    names = [p.name for p in default_pipeline()]
    passes = [make(n) for n in names[: names.index(until) + 1]]
    return pipeline.run(parse(text), passes, context(policy), check=True)


@MANY
@given(SEEDS, st.booleans())
def test_every_pass_keeps_its_contract(seed: int, branches: bool) -> None:
    compiled(random_program(seed, branches=branches).text())


@pytest.mark.parametrize("name", [p.name for p in default_pipeline()] + ["place", "split"])
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_a_pass_run_twice_changes_nothing_more(name: str, seed: int) -> None:
    ctx, module = context(), parse(random_program(seed, branches=True).text())
    names = [p.name for p in default_pipeline()]
    before = names[: names.index(name)] if name in names else names[: names.index("plan-devices")]
    module = pipeline.run(module, [make(n) for n in before], ctx)

    once = make(name).run(module, ctx)
    twice = make(name).run(once, ctx)

    assert structural.equal(once, twice), print_module(twice)


@MANY
@given(SEEDS, SEEDS, st.booleans())
def test_the_order_of_statements_and_operands_does_not_place(
    seed: int, shuffle: int, branches: bool
) -> None:
    written = random_program(seed, branches=branches)

    first, second = placed(written.text()), placed(written.text(shuffle))

    assert devices(first) == devices(second)


@MANY
@given(SEEDS, SEEDS)
def test_the_order_of_statements_does_not_change_what_is_copied(seed: int, shuffle: int) -> None:
    """But for copies that the program writes: what follows one may read it, what precedes not."""
    written = random_program(seed)
    assume("device_copy" not in written.text())

    first, second = compiled(written.text()), compiled(written.text(shuffle))

    assert destinations(first) == destinations(second)


def destinations(module: Module) -> Counter[str]:
    """Return how many copies go to each device; which of two equal values is kept is left open."""
    return Counter(device for _, device in transfers(module).elements())


def placed(text: str) -> Module:
    names = ("bind-vdevices", "infer-types", "plan-devices")
    return pipeline.run(parse(text), [make(n) for n in names], context())


def devices(module: Module, name: str = "main") -> dict[str, str]:
    function = module.by_name[name]
    variables = (*function.params, *rewrite.bound(function.body))
    return {var.name: str(var.type) for var in variables}


def transfers(module: Module, name: str = "main") -> Counter[tuple[str, str]]:
    """Return how often each value is copied to each device, by the name of what is copied."""
    function = module.by_name[name]
    return Counter(
        (source.name, binding.var.vdevice.role)
        for binding in rewrite.walk(function.body)
        if isinstance(value := binding.value, Call)
        and value.op == "device_copy"
        and isinstance(source := value.args[0], Var)
    )


@MANY
@given(SEEDS)
def test_replicating_moves_as_much_as_copying(seed: int) -> None:
    text = random_program(seed, explicit=True).text()

    assert transfers(compiled(text)) == transfers(compiled(text, Policy.REPLICATE))


@MANY
@given(SEEDS)
def test_functions_are_placed_each_for_itself(seed: int) -> None:
    body = random_program(seed, branches=True).text()
    start, end = body.index("  fn @main"), body.rindex("}")
    function = body[start:end]
    other = function.replace("@main", "@other")

    first = parse(body[:start] + function + other + "}")
    second = parse(body[:start] + other + function + "}")
    left, right = (pipeline.run(m, default_pipeline(), context()) for m in (first, second))

    for name in ("main", "other"):
        assert devices(left, name) == devices(right, name)
        assert transfers(left, name) == transfers(right, name)
