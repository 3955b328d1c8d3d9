"""Cases of placement written in another way: what runs where, and what is copied, stays."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import pytest

from hettest.backend.protocol import Observation, Options
from hettest.capability import missing
from hettest.case.expansion import Item
from hettest.case.requirements import of_item
from hettest.corpus import cases, corpus_root, select
from hettest.judge.compare import same_bits
from hettest.judge.nesting import leaves
from hettest.language import Module, nodes, parse
from hettest.runner import ModuleProgram
from hettest.runner.cases import arguments
from reference_vm.conformance import Backend
from tests.mutants.programs import rewriting

DEVICES = ("cpu:0", "sim:0")
Args: TypeAlias = Sequence[Any]


@dataclass(frozen=True)
class Written:
    """A program with its arguments."""

    module: Module
    args: Args


def renamed(text: str, args: Args) -> Written:
    """Give every variable another name, in another alphabetical order."""
    return Written(parse(re.sub(r"%(\w)", r"%z\1", _backwards(text)), "renamed"), args)


def _backwards(text: str) -> str:
    return re.sub(r"%(\w+)", lambda found: f"%{found[1][::-1]}", text)


def aliased(text: str, args: Args) -> Written:
    """Let everybody read a second name of each value."""

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        made = nodes.Var(f"{binding.var.name}.made", binding.var.type)
        return replace(binding, var=made), nodes.Binding(binding.var, nodes.Alias(made))

    return Written(rewriting(change)(parse(text, "aliased")), args)


def turned(text: str, args: Args) -> Written:
    """Take the parameters of ``main`` in reverse order."""
    module = parse(text, "turned")
    functions = [_turned(f) if f.name == "main" else f for f in module.functions]
    return Written(module.with_functions(functions), args[::-1])


def _turned(function: nodes.Function) -> nodes.Function:
    return replace(function, params=function.params[::-1])


def moved_functions(text: str, args: Args) -> Written:
    """Declare the functions in reverse order."""
    module = parse(text, "moved")
    return Written(module.with_functions(module.functions[::-1]), args)


REWRITTEN: dict[str, Callable[[str, Args], Written]] = {
    "renamed": renamed,
    "aliased": aliased,
    "turned": turned,
    "functions": moved_functions,
}


FEW = 4
"""How many programs of one file's sweep are tried."""


@cache
def items() -> tuple[Item, ...]:
    """Return an item for each way in which a program with roles runs ``main`` to its end."""
    found = select(cases(corpus_root()), DEVICES, patterns=("placement", "planning", "bugs")).items
    first = {
        (item.case.id, item.case.swept): item
        for item in found
        if item.binding
        and item.run is not None
        and item.run.error is None
        and item.run.entry == "main"
    }
    tried: Counter[str] = Counter()
    chosen = []
    for item in first.values():
        tried[item.case.id] += 1
        if tried[item.case.id] <= FEW and is_supported(item):
            chosen.append(item)
    return tuple(chosen)


def is_supported(item: Item) -> bool:
    module = parse(item.case.program, item.case.id)
    return not missing(of_item(item, module), Backend().capabilities)


def run(written: Written, item: Item, binding: dict[str, str]) -> Observation:
    default = item.default if binding == dict(item.binding) else DEVICES[0]
    options = Options(item.policy, default, extra={"fuse": False, "intermediates": False})
    program = ModuleProgram(item.case.id, written.module)
    return Backend().compile(program, binding, options).run("main", written.args)


def original(item: Item) -> Written:
    assert item.run is not None
    module = parse(item.case.program, item.case.id)
    return Written(module, arguments(item.case, item.run, module))


def work(seen: Observation) -> Counter[tuple[str, str]]:
    return Counter((e.op, e.device) for e in seen.executions or ())


def transfers(seen: Observation) -> Counter[tuple[str, str, int | None, str | None]]:
    return Counter((c.source, c.target, c.bytes, c.cause) for c in seen.copies or ())


def assert_equal(found: Observation, expected: Observation) -> None:
    pairs = zip(leaves(found.results), leaves(expected.results), strict=True)
    for one, other in pairs:
        assert same_bits(one, other), f"found {one}, expected {other}"


@pytest.mark.parametrize("way", REWRITTEN)
def test_another_way_of_writing_changes_neither_places_nor_copies(way: str) -> None:
    for item in items():
        written = original(item)
        before = run(written, item, dict(item.binding))

        after = run(REWRITTEN[way](item.case.program, written.args), item, dict(item.binding))

        assert work(after) == work(before), item.id
        assert transfers(after) == transfers(before), item.id
        assert_equal(after, before)


def test_all_on_one_device_computes_the_same_bits_and_copies_what_it_is_told_alone() -> None:
    for item in items():
        written = original(item)
        apart = run(written, item, dict(item.binding))

        together = run(written, item, dict.fromkeys(item.binding, DEVICES[0]))

        assert_equal(together, apart)
        assert {c.cause for c in together.copies or ()} <= {"explicit", "constant", "deliver"}


def test_there_are_many_programs() -> None:
    assert len(items()) > 120
