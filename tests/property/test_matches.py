"""Random matches against a list of all values: arms leave out what the check says, or nothing.

A pattern looks no deeper into a value than it is deep itself, so all values down to the depth of
the patterns, with the smallest of their type below, decide whether arms leave a value out and which
arm is the first that fits.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Final, TypeAlias, final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from reference_vm.analysis.data_types import DataTypes
from reference_vm.ir import verify
from reference_vm.ir.nodes import (
    BindPattern,
    ConstructorPattern,
    Match,
    Module,
    Pattern,
    TuplePattern,
    Wildcard,
)
from reference_vm.session import Session
from reference_vm.text import parse
from reference_vm.types import AdtType, TensorType, TupleType, Type

SEEDS = st.integers(0, 2**32 - 1)
DEPTH: Final = 4
"""How deep patterns are: each constructor and each tuple is one step."""

MOST: Final = 3000
"""How many values of a type are looked at; patterns of types with more are less deep."""

MANY: Final = 12
"""How many patterns of one constructor stand side by side."""

DECLARED = """
  type Color { Red, Green, Blue }
  type Nat { Zero, Next(Nat) }
  type List[T] { Nil, Cons(T, List[T]) }
  type Tree[T] { Leaf, Node(Tree[T], T, Tree[T]) }
  type Box[T] { Empty, Held(f32[], T), Twice((T, T)) }
  type Even { Stop, More(Odd) }
  type Odd { One(Even) }
"""
MATCHED = (
    *("Color", "Nat", "List[Color]", "List[(Nat, Color)]", "Tree[Color]", "Box[Nat]", "Even"),
    *("(Nat, List[Color])", "((Color, Color), Nat)", "Box[Box[Color]]", "(Even, (Odd,))"),
)

Value: TypeAlias = Any
"""As sessions have it: a tuple, with its constructor's name first where it is of a data type."""


@final
@dataclass(frozen=True)
class Matched:
    """A match on a value of one type, as arms."""

    type: str
    arms: tuple[str, ...]

    def text(self) -> str:
        arms = "\n".join(
            f"      {arm} => {{ %r{i} = const i64[] {i} yield %r{i} }}"
            for i, arm in enumerate(self.arms)
        )
        return (
            f"module {{{DECLARED}\n  fn @main(%v: {self.type}) -> i64[] {{\n"
            f"    %m = match %v {{\n{arms}\n    }}\n    return %m\n  }}\n}}"
        )

    def patterns(self) -> list[Pattern]:
        return patterns(self.type, self.arms)


def patterns(type_: str, arms: Sequence[str]) -> list[Pattern]:
    """Return what is written as patterns."""
    (binding,) = parse(Matched(type_, tuple(arms)).text()).by_name["main"].body.bindings()
    assert isinstance(binding.value, Match)
    return [arm.pattern for arm in binding.value.arms]


@cache
def declared() -> tuple[Module, DataTypes]:
    module = parse(Matched("Color", ("_",)).text())
    return module, DataTypes(module)


@cache
def type_of(written: str) -> Type:
    found = parse(Matched(written, ("_",)).text()).by_name["main"].params[0].type
    assert found is not None
    return found


def ways(type_: Type) -> list[tuple[str | None, tuple[Type, ...]]]:
    """Return the constructors of a type with their fields; a tuple has one without a name."""
    if isinstance(type_, TupleType):
        return [(None, type_.items)]
    if isinstance(type_, TensorType):
        return []
    assert isinstance(type_, AdtType)
    module, data_types = declared()
    names = [c.name for adt in module.adts if adt.name == type_.name for c in adt.constructors]
    return [(name, data_types.field_types(name, type_.args)) for name in names]


@cache
def values(type_: Type, depth: int) -> tuple[Value, ...]:
    """Return all values of a type down to a depth."""
    if isinstance(type_, TensorType):
        return (np.float32(1.5).reshape(()),)
    found: list[Value] = []
    for name, fields in ways(type_)[: None if depth else 1]:
        inner = product(*(values(field, max(depth - 1, 0)) for field in fields))
        found += [items if name is None else (name, *items) for items in inner]
    return tuple(found)


@cache
def depth_of(written: str) -> int:
    """Return how deep patterns of a type are, so that its values can all be looked at."""
    return max(d for d in range(1, DEPTH + 1) if len(values(type_of(written), d)) <= MOST)


def fits(pattern: Pattern, value: Value) -> bool:
    """Whether a pattern matches a value, by its meaning."""
    match pattern:
        case Wildcard() | BindPattern():
            return True
        case TuplePattern(items=items):
            return all(map(fits, items, value))
        case ConstructorPattern(constructor=name, items=items):
            return bool(value[0] == name) and all(map(fits, items, value[1:]))


def first(arms: Sequence[Pattern], value: Value) -> int | None:
    return next((i for i, pattern in enumerate(arms) if fits(pattern, value)), None)


def drawn(rng: random.Random) -> Matched:
    """Return a random match; of many the arms leave nothing out, or one of such arms is missing."""
    type_ = rng.choice(MATCHED)
    of, depth = type_of(type_), depth_of(type_)
    names = iter(f"%b{i}" for i in range(10_000))
    arms = [pattern(of, depth, rng, names, head=True) for _ in range(rng.randint(0, 5))]
    if not arms or rng.random() < 0.7:
        every = split(of, depth, rng, head=True)
        arms += rng.sample(every, max(1, len(every) - rng.choice((0, 1, 1, 2))))
    rng.shuffle(arms)
    return Matched(type_, (*arms, *(["_"] if rng.random() < 0.1 else [])))


def pattern(
    type_: Type, depth: int, rng: random.Random, names: Iterator[str], *, head: bool = False
) -> str:
    known = ways(type_)
    if not depth or not known or (not head and rng.random() < 0.35):
        return next(names) if rng.random() < 0.3 else "_"
    name, fields = rng.choice(known)
    return spelled(name, [pattern(field, depth - 1, rng, names) for field in fields])


def spelled(name: str | None, items: Sequence[str]) -> str:
    if name is None:
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return f"{name}({', '.join(items)})" if items else name


def split(type_: Type, depth: int, rng: random.Random, *, head: bool = False) -> list[str]:
    """Return few patterns that leave nothing out: each is `_`, or one for each constructor."""
    known = ways(type_)
    if not depth or not known or (not head and rng.random() < 0.2):
        return ["_"]
    found = []
    for name, fields in known:
        rows = list(product(*(split(field, depth - 1, rng) for field in fields)))
        every = rows if len(rows) <= MANY else [("_",) * len(fields)]
        found += [spelled(name, items) for items in every]
    return found


def complaint(matched: Matched) -> str | None:
    """Return the message that the check has on a match; ``None`` if it has none."""
    found = verify.check(parse(matched.text()))
    assert {d.code for d in found} <= {"non-exhaustive-match"}
    return found[0].message if found else None


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_arms_leave_out_what_the_check_says_and_nothing_else(seed: int) -> None:
    matched = drawn(random.Random(seed))
    arms = matched.patterns()
    every = values(type_of(matched.type), depth_of(matched.type))
    left_out = [value for value in every if first(arms, value) is None]

    message = complaint(matched)

    assert (message is not None) == bool(left_out), matched.text()
    if message is not None:
        (missing,) = patterns(matched.type, [message.removeprefix("no arm matches ")])
        named = [value for value in every if fits(missing, value)]
        assert named, f"{message} is no value\n{matched.text()}"
        assert all(first(arms, value) is None for value in named), f"{message}\n{matched.text()}"


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_the_first_arm_that_fits_is_taken(seed: int) -> None:
    rng = random.Random(seed)
    matched = drawn(rng)
    if complaint(matched) is not None:
        matched = Matched(matched.type, (*matched.arms, "_"))
    arms = matched.patterns()
    every = values(type_of(matched.type), depth_of(matched.type))
    program = rv.compile(parse(matched.text()), "host=cpu:0")
    sessions = Session(program), Session(program, interpreter=True)

    for value in rng.sample(every, min(len(every), 40)):
        found = [int(session.run("main", value)) for session in sessions]
        assert found == [first(arms, value)] * 2, f"{value}\n{matched.text()}"


def test_draws_are_of_both_kinds_and_of_every_type() -> None:
    """Half of them leave something out, and patterns nest."""
    found = [drawn(random.Random(seed)) for seed in range(120)]
    complaints = [complaint(matched) for matched in found]

    assert {matched.type for matched in found} == set(MATCHED)
    assert 0.25 < sum(c is None for c in complaints) / len(found) < 0.75
    assert max(arm.count("(") for matched in found for arm in matched.arms) > 4
    assert any("%b" in arm for matched in found for arm in matched.arms)
