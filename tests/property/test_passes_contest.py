"""A contested group is shared out as cheaply as trying every plan finds."""

from __future__ import annotations

import random
from itertools import product

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.analysis.max_flow import Network
from reference_vm.passes.contested_groups import EXACT_LIMIT, Contest, Net, cost, settle
from reference_vm.types import DeviceName, VirtualDevice

SEEDS = st.integers(0, 2**32 - 1)
MANY = settings(max_examples=150, deadline=None)
DEVICES = tuple(VirtualDevice(r, DeviceName("sim", i)) for i, r in enumerate("abcd"))


def contest(rng: random.Random, devices: int, operations: int) -> Contest:
    inside = tuple(range(operations))
    nets = []
    for _ in range(rng.randrange(1, 2 * operations + 2)):
        ends = rng.sample(inside, rng.randrange(1, min(4, operations) + 1))
        fixed = rng.sample(DEVICES, rng.choice((0, 0, 1, 1, 2)))
        nets.append(Net(tuple(sorted(ends)), frozenset(fixed), rng.choice((0, 4, 4, 16, 100))))
    return Contest(
        operations=inside,
        counted=frozenset(o for o in inside if rng.random() < 0.8),
        devices=DEVICES[:devices],
        default=rng.choice(DEVICES[: devices + 1]),
        nets=tuple(nets),
    )


def plans(asked: Contest) -> list[dict[int, VirtualDevice]]:
    return [
        dict(zip(asked.operations, chosen, strict=True))
        for chosen in product(asked.devices, repeat=len(asked.operations))
    ]


@MANY
@given(SEEDS, st.sampled_from(((2, 7), (3, 5), (4, 4))))
def test_no_plan_is_cheaper(seed: int, size: tuple[int, int]) -> None:
    rng = random.Random(seed)
    asked = contest(rng, size[0], rng.randrange(1, size[1] + 1))

    found = settle(asked)

    assert found.proven
    assert cost(asked, found.on) == min(cost(asked, plan) for plan in plans(asked))


@MANY
@given(SEEDS)
def test_of_the_cheapest_plans_the_default_gets_the_most(seed: int) -> None:
    rng = random.Random(seed)
    asked = contest(rng, 2, rng.randrange(1, 8))
    first = asked.devices[0]

    found = settle(asked).on

    least = cost(asked, found)
    for plan in plans(asked):
        if cost(asked, plan) == least:
            assert all(found[o] == first for o in asked.operations if plan[o] == first)


@MANY
@given(SEEDS)
def test_a_plan_that_is_not_proven_is_no_worse_than_one_device_for_all(seed: int) -> None:
    asked = contest(random.Random(seed), 3, EXACT_LIMIT + 8)

    found = settle(asked)

    assert not found.proven
    for device in asked.devices:
        assert cost(asked, found.on) <= cost(asked, dict.fromkeys(asked.operations, device))


@MANY
@given(SEEDS)
def test_the_greatest_flow_is_that_of_another_library(seed: int) -> None:
    rng = random.Random(seed)
    nodes = rng.randrange(2, 9)
    network = Network(nodes)
    graph: networkx.DiGraph[int] = networkx.DiGraph()
    graph.add_nodes_from(range(nodes))
    for _ in range(rng.randrange(20)):
        start, end = rng.sample(range(nodes), 2)
        capacity = rng.randrange(10)
        network.edge(start, end, capacity)
        known = graph.get_edge_data(start, end, {"capacity": 0})["capacity"]
        graph.add_edge(start, end, capacity=known + capacity)

    flow = network.run(0, nodes - 1)

    assert flow == networkx.maximum_flow_value(graph, 0, nodes - 1)
    side = network.source_side(0)
    assert flow == sum(
        data["capacity"] for u, v, data in graph.edges(data=True) if u in side and v not in side
    )
