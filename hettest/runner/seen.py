"""What reports draw of a run on more than one device: where values were computed and went.

Placement and transfers are what the backend showed. What each variable reads is taken from the
program as it is written: views, aliases, tuples, branches and calls of functions stand for what
they are given, down to the parameters of the entry and to variables that ran. Shapes, and operands
that are read on the host, move no data and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from hettest.backend.protocol import Observation
from hettest.case.expansion import Item
from hettest.case.walk import bindings, name_of
from hettest.language import Module, Trait, nodes, operators
from hettest.outcome import Seen, Transfer

_Sources: TypeAlias = Mapping[str, tuple[str, ...]]
"""What each variable of a program takes its value from, by name: ``main/%s``."""


def seen(item: Item, observation: Observation | None, module: Module | None) -> Seen | None:
    """Return what was seen of the run of ``item``; ``None`` on one device, or of no run.

    Args:
        item: What was run.
        observation: Of the run.
        module: The program; ``None`` leaves out what reads what.
    """
    if observation is None or len(set(item.devices)) < 2:
        return None
    placement = _placement(observation)
    transfers = tuple(
        Transfer(c.value, c.source, c.target, c.bytes, c.cause, c.reader, c.count)
        for c in observation.copies or ()
    )
    entry = None if module is None or item.run is None else module.by_name.get(item.run.entry)
    if module is None or entry is None:
        return Seen(placement, transfers)
    sources = _sources(module, entry)
    reads = {name: _resolved(sources.get(name, ()), placement, sources) for name in placement}
    results = _resolved((name_of(entry, entry.body.result),), placement, sources)
    return Seen(placement, transfers, reads, results)


def _placement(observation: Observation) -> dict[str, tuple[str, ...]]:
    placement: dict[str, tuple[str, ...]] = {}
    for execution in observation.executions or ():
        for name in execution.defines:
            placement[name] = tuple(dict.fromkeys((*placement.get(name, ()), execution.device)))
    return placement


def _sources(module: Module, entry: nodes.Function) -> _Sources:
    """Return the sources of each variable; the entry's parameters have none, and are not keys."""
    found: dict[str, tuple[str, ...]] = {}
    for function in module.functions:
        if function is not entry:
            found |= {name_of(function, param): () for param in function.params}
    for function in module.functions:
        for binding in bindings(function):
            name = name_of(function, binding.var)
            found[name] = tuple(name_of(function, v) for v in _given(binding.value))
            for inner, outer in _calls(module, function, binding.value, name):
                found[inner] = (*found.get(inner, ()), outer)
    return found


def _given(value: nodes.Expr) -> Iterator[nodes.Var]:
    """Yield the variables whose value an expression passes on or computes with."""
    op = operators().get(value.op) if isinstance(value, nodes.Call) else None
    if op is not None and isinstance(value, nodes.Call):
        args = () if op.has(Trait.METADATA) else value.args
        read = (arg for index, arg in enumerate(args) if not op.is_host_operand(index))
        yield from (arg for arg in read if isinstance(arg, nodes.Var))
    elif isinstance(value, nodes.If | nodes.Match):
        yield from (block.result for block in nodes.blocks(value))
    elif not isinstance(value, nodes.Invoke) or not isinstance(value.callee, nodes.GlobalRef):
        yield from nodes.operands(value)


def _calls(
    module: Module, caller: nodes.Function, value: nodes.Expr, name: str
) -> Iterator[tuple[str, str]]:
    """Yield what a call of a function hands over: each parameter's argument, and the result."""
    if not isinstance(value, nodes.Invoke) or not isinstance(value.callee, nodes.GlobalRef):
        return
    callee = module.by_name.get(value.callee.function)
    if callee is None:
        return
    for param, arg in zip(callee.params, value.args, strict=False):
        if isinstance(arg, nodes.Var):
            yield name_of(callee, param), name_of(caller, arg)
    yield name, name_of(callee, callee.body.result)


def _resolved(
    names: tuple[str, ...], placement: Mapping[str, object], sources: _Sources
) -> tuple[str, ...]:
    """Return the variables that ran and the entry's parameters that ``names`` stand for."""
    found: dict[str, None] = {}
    known = set(names)
    waiting = list(reversed(names))
    while waiting:
        name = waiting.pop()
        if name in placement or name not in sources:
            found[name] = None
            continue
        new = [source for source in reversed(sources[name]) if source not in known]
        known.update(new)
        waiting += new
    return tuple(found)


__all__ = ["seen"]
