"""Automatic placement is as cheap as trying every plan finds, and never slower than one device."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline, roles
from reference_vm.passes.auto_placement import Decision, decide
from reference_vm.passes.catalog import simplifying
from reference_vm.passes.context import PassContext, Policy
from reference_vm.passes.cost_model import CostModel, DeviceCost, LinkCost
from reference_vm.passes.placement import Places
from reference_vm.passes.placement_memory import peaks
from reference_vm.passes.placement_problem import Assignment, Problem
from reference_vm.types import DeviceMap, VirtualDevice
from tests.property.placed_programs import program

SEEDS = st.integers(0, 2**32 - 1)
MANY = settings(max_examples=40, deadline=None)
MAP = "host=cpu:0,a=sim:0,b=sim:1"
TWO = {"host", "a"}


def costs(rng: random.Random) -> CostModel:
    """Return a model in which work and transfers cost about the same."""
    return CostModel(
        {
            "cpu": DeviceCost(rng.randrange(1, 50), None, 1),
            "sim:0": DeviceCost(rng.randrange(1, 50), None, 1),
            "sim:1": DeviceCost(rng.randrange(1, 50), None, 1),
        },
        {
            "sim:0": LinkCost(rng.randrange(0, 40), rng.choice((0.5, 1, 4))),
            "sim:1": LinkCost(rng.randrange(0, 40), rng.choice((0.5, 1, 4))),
        },
    )


def problem(rng: random.Random, candidates: set[str], *, operators: int = 5) -> Problem:
    default = rng.choice(sorted(candidates))
    policy = rng.choice((Policy.COPY, Policy.REPLICATE))
    ctx = PassContext(OPS, DeviceMap.parse(MAP), policy, default, costs=costs(rng))
    written = program(rng, branches=rng.random() < 0.5, operators=operators)
    module = pipeline.run(rv.parse(written.text()), simplifying(), ctx)
    places = Places(roles.host(module), roles.default(module, ctx), roles.in_order(module, ctx))
    chosen = [v for v in places.order if v.role in candidates]
    return Problem(module.by_name["main"], ctx, places, chosen)


def plans(asked: Problem) -> Iterator[Assignment]:
    for chosen in product(asked.candidates, repeat=len(asked.units)):
        yield dict(enumerate(chosen))


@MANY
@given(SEEDS, st.sampled_from((("host", "a"), ("a", "b"))))
def test_for_two_devices_no_plan_is_cheaper(seed: int, pair: tuple[str, str]) -> None:
    asked = problem(random.Random(seed), set(pair))

    found = decide(asked, {})

    assert isinstance(found, Decision)
    assert found.exact
    assert found.cost == asked.total(found.on)
    assert found.cost == min(map(asked.total, plans(asked)))


@MANY
@given(SEEDS)
def test_with_more_devices_it_says_so_and_is_no_slower_than_any_alone(seed: int) -> None:
    asked = problem(random.Random(seed), {"host", "a", "b"}, operators=4)

    found = decide(asked, {})

    assert isinstance(found, Decision)
    assert found.exact == (not asked.units)
    assert found.cost <= min(asked.total(asked.alone(d)) for d in asked.candidates)
    assert found.cost >= min(map(asked.total, plans(asked)))


@MANY
@given(SEEDS, st.integers(8, 120))
def test_within_a_budget_it_is_no_slower_than_any_alone_that_keeps_it(
    seed: int, budget: int
) -> None:
    asked = problem(random.Random(seed), TWO)
    limited = next(d for d in asked.candidates if d.role == "a")

    found = decide(asked, {limited: budget})

    fitting = [p for p in plans(asked) if fits(asked, p, limited, budget)]
    if isinstance(found, Decision):
        assert fits(asked, found.on, limited, budget)
        alone = (asked.alone(d) for d in asked.candidates)
        kept = [asked.total(p) for p in alone if fits(asked, p, limited, budget)]
        assert found.cost <= min(kept, default=found.cost)
        if found.exact:
            assert found.cost == min(map(asked.total, fitting))
    else:
        assert found.peak.bytes > budget
        assert not any(fits(asked, asked.alone(d), limited, budget) for d in asked.candidates)


def fits(asked: Problem, plan: Assignment, device: VirtualDevice, budget: int) -> bool:
    found = peaks(asked, plan).get(device)
    return found is None or found.bytes <= budget


@MANY
@given(SEEDS)
def test_the_plan_does_not_depend_on_the_order_of_statements(seed: int) -> None:
    written = program(random.Random(seed))
    model = costs(random.Random(seed))
    told = []
    for shuffle in (None, 1, 2):
        module = rv.parse(written.text(shuffle))
        ctx = {"device_map": "host=cpu:0,a=sim:0,b=sim:1", "costs": model}
        (found,) = rv.explain(module, place="auto", **ctx).functions  # type: ignore[arg-type]
        told.append(found.notes["placement_auto"].partition(":")[0])

    assert len(set(told)) == 1


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_requests_are_kept_and_results_are_the_same(seed: int) -> None:
    rng = random.Random(seed)
    module = rv.parse(program(rng, branches=True).text())
    args = (
        *(np.arange(4, dtype=np.float32) - i for i in range(3)),
        np.array(True),
        np.array(False),
    )
    placed = rv.explain(module, MAP).functions[0]
    auto = rv.explain(module, MAP, place="auto", costs=costs(rng)).functions[0]
    plain = rv.Session(rv.compile(module, "host=cpu:0,a=cpu:0,b=cpu:0")).run("main", *args)
    chosen = rv.Session(rv.compile(module, MAP, place="auto", costs=costs(rng), check=True))

    np.testing.assert_array_equal(chosen.run("main", *args), plain)
    after = {r.name: r for r in auto.residences}
    for residence in placed.residences:
        if residence.rule.number in (1, 2):
            found = after.get(residence.name)
            assert found is None or found.device == residence.device


@MANY
@given(SEEDS)
def test_the_model_counts_the_transfers_that_the_planner_makes(seed: int) -> None:
    """For operators that are requested, parameters and results: exactly those of the plan."""
    rng = random.Random(seed)
    module = rv.parse(program(rng, explicit=True).text())
    link = LinkCost(1, 1)
    model = CostModel(
        {k: DeviceCost(0, None, 1e9) for k in ("cpu", "sim")}, {"cpu": link, "sim": link}
    )
    ctx = PassContext(OPS, DeviceMap.parse(MAP), costs=model)
    flat = pipeline.run(module, simplifying(), ctx)
    places = Places(roles.host(flat), roles.default(flat, ctx), roles.in_order(flat, ctx))
    asked = Problem(flat.by_name["main"], ctx, places, places.order)
    (plan,) = rv.explain(module, MAP).functions

    moved = [t for t in plan.transfers if t.cause not in ("constant", "deliver")]
    delivered = [t for t in plan.transfers if t.cause == "deliver"]
    placed = any(t.cause == "result" for t in moved) or flat.by_name["main"].result.vdevice  # type: ignore[union-attr]
    counted = moved if placed else [*moved, *delivered]
    expected = sum(asked.transfer(t.source, t.target, t.bytes) for t in counted)
    assert asked.total({}) - asked.base == expected
