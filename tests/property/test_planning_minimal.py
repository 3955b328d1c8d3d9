"""Plans are the cheapest there are, as other means find them: brute force, and networkx's cuts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline, roles
from reference_vm.passes.catalog import PASSES
from reference_vm.passes.contested_groups import Contest, Net, cost, settle
from reference_vm.passes.context import PassContext
from reference_vm.passes.placement import Places, place
from reference_vm.text import parse
from reference_vm.types import DeviceMap, VirtualDevice
from tests.property.placed_programs import DEVICES as ROLES
from tests.property.test_passes_contest import SEEDS, contest

BYTES = {"f32[4]": 16, "f32[16]": 64, "f32[64]": 256}


@pytest.mark.parametrize("devices", [2, 3])
@settings(max_examples=12)
@given(SEEDS)
def test_no_plan_for_eight_operators_is_cheaper(devices: int, seed: int) -> None:
    asked = contest(random.Random(seed), devices, 8)

    found = settle(asked)

    plans = (
        dict(zip(asked.operations, on, strict=True)) for on in product(asked.devices, repeat=8)
    )
    assert found.proven
    assert cost(asked, found.on) == min(cost(asked, plan) for plan in plans)


@settings(max_examples=60)
@given(SEEDS, st.integers(2, 40), st.sampled_from((1, 2**31, 2**40)))
def test_two_devices_are_cut_as_cheaply_as_networkx_does(seed: int, size: int, unit: int) -> None:
    """Also where bytes are beyond 2^31, at which capacities in 32 bits go wrong."""
    asked = contest(random.Random(seed), 2, size)
    nets = tuple(Net(n.operations, n.fixed, n.bytes * unit) for n in asked.nets)
    asked = Contest(asked.operations, asked.counted, asked.devices, asked.default, nets)

    found = settle(asked)

    assert cost(asked, found.on) - _elsewhere(asked) == cut(asked)


def _elsewhere(asked: Contest) -> int:
    """Return what nets cost for devices that do not pull, wherever the operators run."""
    first, second = asked.devices
    costs = []
    for device in (first, second):
        on = dict.fromkeys(asked.operations, device)
        costs.append(cost(asked, on))
    spent = 0
    for net in asked.nets:
        outside = net.fixed - {first, second}
        if outside:
            inside = net.operations or net.fixed & {first, second}
            spent += (len(outside) - (0 if inside else 1)) * asked.weight(net)
    return spent


def cut(asked: Contest) -> int:
    """Return the least that a cut between the two devices costs, by networkx on exact integers."""
    first, second = asked.devices
    graph: networkx.DiGraph[object] = networkx.DiGraph()
    graph.add_nodes_from(asked.devices)

    def add(start: object, end: object, capacity: int) -> None:
        if capacity:
            known = graph.get_edge_data(start, end, {"capacity": 0})["capacity"]
            graph.add_edge(start, end, capacity=known + capacity)

    for operation in asked.operations:
        add(operation, second, asked.off_default(operation, first))
        add(first, operation, asked.off_default(operation, second))
    for index, net in enumerate(asked.nets):
        ends = {*net.operations, *(net.fixed & {first, second})}
        for end in ends:
            graph.add_edge(("net", index, "out"), end)
            graph.add_edge(end, ("net", index, "in"))
        add(("net", index, "in"), ("net", index, "out"), asked.weight(net))
    value = networkx.minimum_cut_value(graph, first, second)
    assert isinstance(value, int)
    return value


@dataclass(frozen=True)
class Straight:
    """A straight-line program: who makes what of what, where requests and pins are."""

    params: Mapping[str, tuple[str, str]]
    """The type and the place, maybe ``""``, of each parameter."""

    operators: Mapping[str, tuple[tuple[str, ...], str]]
    """The operands and the suffix, maybe ``""``, of each operator."""

    result: str
    place: str

    @property
    def text(self) -> str:
        params = ", ".join(f"%{n}: {t}{_at(p)}" for n, (t, p) in self.params.items())
        lines = []
        for name, (operands, suffix) in self.operators.items():
            read = ", ".join(f"%{o}" for o in operands)
            op = "exp" if len(operands) == 1 else "add"
            lines.append(f"    %{name} = {op}({read}){_at(suffix)}")
        body = "\n".join(lines)
        return (
            f"module {{\n  vdevice @host, @a, @b\n  fn @main({params}) -> f32[...]{_at(self.place)}"
            f" {{\n{body}\n    return %{self.result}\n  }}\n}}\n"
        )

    def moved(self, on: Mapping[str, str], sizes: Mapping[str, int]) -> tuple[int, int]:
        """Return the bytes and the number of copies if operators run where ``on`` says."""
        need: dict[str, set[str]] = {n: set() for n in (*self.params, *self.operators)}
        for name, (operands, _) in self.operators.items():
            for operand in operands:
                need[operand].add(on[name])
        if self.place:
            need[self.result].add(self.place)
        home = {**on, **{n: p or _first(need[n]) for n, (_, p) in self.params.items()}}
        copies = {n: len(need[n] | {home[n]}) - 1 for n in need}
        return sum(sizes[n] * c for n, c in copies.items()), sum(copies.values())


def _at(place: str) -> str:
    return f" @{place}" if place else ""


def _first(devices: Iterable[str]) -> str:
    return next((role for role in ROLES if role in set(devices)), "host")


def straight(rng: random.Random) -> Straight:
    """Return a program with up to eight operators that nothing places, and some requests."""
    rank = rng.choice(list(BYTES))
    params = {n: (rank, rng.choice(("", *ROLES))) for n in "pq"}
    operators: dict[str, tuple[tuple[str, ...], str]] = {}
    open_ = 0
    for index in range(rng.randrange(2, 11)):
        known = [*params, *operators]
        operands = tuple(rng.choice(known[-4:]) for _ in range(rng.randrange(1, 3)))
        suffix = rng.choice(ROLES) if open_ == 8 or rng.random() < 0.2 else ""
        open_ += not suffix
        operators[f"v{index}"] = (operands, suffix)
    return Straight(params, operators, list(operators)[-1], rng.choice(("", *ROLES)))


@settings(max_examples=60)
@given(SEEDS)
def test_no_other_places_for_a_group_move_less(seed: int) -> None:
    check_groups(seed)


def test_random_programs_have_contested_groups() -> None:
    assert sum(check_groups(seed) for seed in range(40)) > 8


def check_groups(seed: int) -> bool:
    """Check the contested group of a random program, if it has one, and say whether it has.

    Several such groups are weighed each for itself, and may together move more than they need.
    """
    written = straight(random.Random(seed))
    text = written.text.replace("f32[...]", written.params["p"][0])
    ctx = PassContext(OPS, DeviceMap.parse("host=cpu:0,a=sim:0,b=sim:1"))
    module = pipeline.run(parse(text), [PASSES["bind-vdevices"](), PASSES["infer-types"]()], ctx)
    (function,) = module.functions
    graph = FunctionValues(function, OPS)
    places = Places(roles.host(module), roles.default(module, ctx), roles.in_order(module, ctx))
    found = place(graph, places)
    on = {o.binding.var.name: found.devices[o.results[0]].role for o in graph.operations}
    sizes = dict.fromkeys((*written.params, *written.operators), BYTES[written.params["p"][0]])

    if len(found.contests) != 1:
        return False
    for asked, settlement in found.contests:
        names = [graph.operations[i].binding.var.name for i in asked.operations]
        assert settlement.proven
        least = written.moved(on, sizes)
        for other in _assignments(names, asked.devices):
            assert written.moved({**on, **other}, sizes) >= least
    return True


def _assignments(
    names: Sequence[str], devices: Sequence[VirtualDevice]
) -> Iterator[dict[str, str]]:
    for chosen in product(devices, repeat=len(names)):
        yield {name: device.role for name, device in zip(names, chosen, strict=True)}
