"""A function as a flat stream of events in text order, for rules that follow scopes.

For ``%y = if %c { %z = exp(%x) yield %z } else { yield %x }  return %y`` the events are: opened
(the body), reading ``%y = if``, opened (first branch), reading and bound ``%z``, closed, opened,
closed, bound ``%y``, closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, Union, final

from reference_vm.ir.nodes import (
    Arm,
    Binding,
    BindPattern,
    Block,
    Closure,
    Dataflow,
    Function,
    If,
    Match,
    Pattern,
    Var,
    Wildcard,
)


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """A region begins."""

    block: Block
    owner: Function | If | Arm | Closure
    bound: tuple[Var, ...]
    """What is bound by the beginning itself: parameters, or variables of a pattern."""


@final
@dataclass(frozen=True, slots=True)
class Closed:
    """A region ends, with its result."""

    block: Block
    owner: Function | If | Arm | Closure


@final
@dataclass(frozen=True, slots=True)
class OpenedDataflow:
    dataflow: Dataflow


@final
@dataclass(frozen=True, slots=True)
class ClosedDataflow:
    dataflow: Dataflow


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """A binding's expression is read; the regions in it follow."""

    binding: Binding


@final
@dataclass(frozen=True, slots=True)
class Bound:
    """A binding's expression is behind: its variable has its value."""

    binding: Binding


Event: TypeAlias = Union[Opened, Closed, OpenedDataflow, ClosedDataflow, Reading, Bound]


def events(function: Function) -> Iterator[Event]:
    """Yield the events of ``function``; nested regions need no more of Python's stack."""
    stack = [_region(Opened(function.body, function, function.params))]
    while stack:
        event = next(stack[-1], None)
        if event is None:
            stack.pop()
            continue
        yield event
        if isinstance(event, Reading):
            stack.append(_regions(event.binding))


def _region(opened: Opened) -> Iterator[Event]:
    yield opened
    for statement in opened.block.statements:
        if isinstance(statement, Binding):
            yield Reading(statement)
            continue
        yield OpenedDataflow(statement)
        for binding in statement.bindings:
            yield Reading(binding)
        yield ClosedDataflow(statement)
    yield Closed(opened.block, opened.owner)


def _regions(binding: Binding) -> Iterator[Event]:
    """Yield the regions of a binding one after the other, then that it is bound."""
    value = binding.value
    match value:
        case If(then=then, orelse=orelse):
            yield from _region(Opened(then, value, ()))
            yield from _region(Opened(orelse, value, ()))
        case Match(arms=arms):
            for arm in arms:
                yield from _region(Opened(arm.body, arm, tuple(bound_by(arm.pattern))))
        case Closure(params=params, body=body):
            yield from _region(Opened(body, value, params))
    yield Bound(binding)


def bound_by(pattern: Pattern) -> Iterator[Var]:
    """Yield the variables that ``pattern`` binds, in text order."""
    stack = [pattern]
    while stack:
        top = stack.pop()
        if isinstance(top, BindPattern):
            yield top.var
        elif not isinstance(top, Wildcard):
            stack.extend(reversed(top.items))
