"""What one device computes is doubled, and exactly the predicted results change.

Whoever lets the kit double every floating result that a device computes (`Options.perturb`) shows
by its results where its operators run. The prediction is the oracle's, for the same program in
which each operator that is said to run on that device is followed by a doubling, which is exact.
Each device of the item is doubled alone.

An operator is *shown* if the result that was predicted is found, and is another one than if that
operator alone had run elsewhere. Looked at are short straight-line programs of operators whose
result is doubled with an operand, so that no miss can hide, and only runs whose plain result is
right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, final

import numpy as np

from hettest.backend.protocol import Observation, Rejected
from hettest.case.walk import name_of
from hettest.expect.situation import Situation
from hettest.judge.compare import compare
from hettest.judge.nesting import leaves, misfit
from hettest.language import (
    CompileError,
    Estimate,
    Module,
    TensorType,
    Trait,
    TupleType,
    Type,
    nodes,
    operators,
    oracle,
)

LARGEST: Final = 8
"""Operators of a program that is looked at, at most."""

LINEAR: Final = frozenset(
    {"add", "concat", "matmul", "multiply", "negative", "permute_dims", "subtract", "sum"}
)

_PASSIVE: Final = (
    nodes.Alias | nodes.MakeTuple | nodes.Project | nodes.Constant | nodes.ShapeLiteral
)

Results: TypeAlias = tuple[Estimate, ...]


@final
@dataclass(frozen=True)
class Caused:
    """What doubling showed."""

    shown: frozenset[str]
    """The variables that were shown to be computed where they are said to be."""

    devices: tuple[str, ...]
    """The devices that were doubled, each alone."""

    misses: tuple[str, ...]
    """Where a result did not change as predicted."""


def caused(situation: Situation) -> Caused | None:
    """Return what doubling each device alone shows; ``None`` where it is not done."""
    doubled = situation.doubled
    places = None if doubled is None else _places(situation)
    if doubled is None or not places:
        return None
    try:
        return _Experiment(situation, places, doubled).outcome()
    except CompileError:
        return None


@final
@dataclass(frozen=True)
class _Experiment:
    situation: Situation
    places: Mapping[nodes.Var, str]
    """Where each operator is said to run."""

    doubled: Callable[[str], Observation]

    def outcome(self) -> Caused | None:
        plain = self._predicted(())
        if _first_miss(self.situation.observation, plain) is not None:
            return None
        devices = tuple(dict.fromkeys((*self.situation.binding.values(), *self.places.values())))
        found = {device: self._miss(device) for device in devices}
        misses = tuple(f"{device}: {miss}" for device, miss in found.items() if miss)
        shown = () if misses else self._told_apart()
        return Caused(frozenset(shown), devices, misses)

    def _miss(self, device: str) -> str | None:
        """Double what a device computes and return where the result is not as predicted."""
        try:
            seen = self.doubled(device)
        except Rejected as refused:
            return f"the run with its results doubled was refused: {refused}"
        miss = _first_miss(seen, self._predicted(self._on(device)))
        if miss is None:
            return None
        names = ", ".join(self._name(var) for var in self._on(device)) or "nothing"
        return (
            f"with all that it computes doubled, {miss}; it is said to compute {names}: "
            "a false report of placement"
        )

    def _told_apart(self) -> Iterator[str]:
        for var, device in self.places.items():
            here = self._on(device)
            elsewhere = self._predicted([other for other in here if other is not var])
            if _differ(self._predicted(here), elsewhere):
                yield self._name(var)

    def _on(self, device: str) -> list[nodes.Var]:
        return [var for var, place in self.places.items() if place == device]

    def _name(self, var: nodes.Var) -> str:
        return name_of(self.situation.function, var)

    def _predicted(self, doubled: Collection[nodes.Var]) -> Results:
        situation = self.situation
        module = with_doubled(situation.module, situation.entry, doubled)
        result = oracle.evaluate(module, situation.entry, situation.args).result
        return tuple(leaves(result))


def with_doubled(module: Module, entry: str, doubled: Collection[nodes.Var]) -> Module:
    """Return the module with the value of each variable in ``doubled`` added to itself."""
    function = module.by_name[entry]
    statements = tuple(_doubling(function.body.bindings(), doubled))
    changed = replace(function, body=replace(function.body, statements=statements))
    others = (f for f in module.functions if f is not function)
    return module.with_functions((changed, *others))


def _doubling(
    bindings: Iterator[nodes.Binding], doubled: Collection[nodes.Var]
) -> Iterator[nodes.Binding]:
    for binding in bindings:
        if binding.var not in doubled:
            yield binding
            continue
        once = nodes.Var(f"{binding.var.name}.once", binding.var.type)
        yield replace(binding, var=once)
        yield replace(binding, value=nodes.Call("add", (once, once)))


def _places(situation: Situation) -> Mapping[nodes.Var, str] | None:
    """Return where each operator is said to run; ``None`` if this is no program to look at."""
    function = situation.function
    if not all(_is_floating(param.type) for param in function.params):
        return None
    places: dict[nodes.Var, str] = {}
    varying = set(function.params)
    for binding in function.body.bindings():
        if varying.intersection(nodes.operands(binding.value)):
            varying.add(binding.var)
        if isinstance(binding.value, _PASSIVE) or _only_passes_on(binding.value):
            continue
        place = _place(situation, binding)
        if place is None or binding.var not in varying or len(places) == LARGEST:
            return None
        places[binding.var] = place
    return places


def _only_passes_on(value: nodes.Expr) -> bool:
    op = operators().get(value.op) if isinstance(value, nodes.Call) else None
    return op is not None and (op.has(Trait.VIEW) or op.has(Trait.MOVES_DATA))


def _place(situation: Situation, binding: nodes.Binding) -> str | None:
    """Return where an operator is said to run: by the report, or else as requested."""
    if not isinstance(binding.value, nodes.Call) or binding.value.op not in LINEAR:
        return None
    if situation.observation.executions is None:
        role = binding.request
        return None if role is None else situation.device(role.role)
    found = situation.made_on.get(name_of(situation.function, binding.var), frozenset())
    return next(iter(found)) if len(found) == 1 else None


def _is_floating(type_: Type | None) -> bool:
    if isinstance(type_, TupleType):
        return all(_is_floating(item) for item in type_.items)
    return isinstance(type_, TensorType) and type_.dtype.is_float


def _first_miss(seen: Observation, predicted: Results) -> str | None:
    """Return the first element that is further from what is predicted than its bound."""
    found: Sequence[Any] = tuple(leaves(seen.results))
    if len(found) != len(predicted):
        return f"there are {len(found)} results, expected {len(predicted)}"
    for number, (array, estimate) in enumerate(zip(found, predicted, strict=True)):
        if misfit(array, estimate) or array.shape != estimate.value.shape:
            return f"result {number} has another form"
        comparison = compare(array, estimate)
        if comparison.beyond:
            place = comparison.place
            return (
                f"result {number}, element {list(place)} is {array[place]}, "
                f"expected {estimate.value[place]}"
            )
    return None


def _differ(here: Results, elsewhere: Results) -> bool:
    """Whether some element is told apart by more than both bounds."""
    pairs = zip(here, elsewhere, strict=True)
    with np.errstate(invalid="ignore"):  # infinity less infinity
        return any(
            bool(np.any(np.abs(one.value - other.value) > one.errors + other.errors))
            for one, other in pairs
        )
