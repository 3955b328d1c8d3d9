"""What a run cannot leave out: operators on run-time arguments that the result needs.

An implementation may fold what does not depend on arguments, drop what nobody reads, and merge
equal operators; a view and a transfer are no operators that run. Everything else that was requested
must be among the executions that are shown.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from hettest.case.explicit import NotExplicit, read
from hettest.case.walk import name_of
from hettest.expect.situation import Situation
from hettest.judge.nesting import leaves
from hettest.language import OpDef, Trait, nodes, operators

if TYPE_CHECKING:
    from hettest.backend.protocol import Value

_NOT_RUN = (Trait.VIEW, Trait.MOVES_DATA, Trait.METADATA, Trait.HOST)
_PRIMITIVE = "array-api"
"""The origin of operators that engines do not take apart."""

_MAY_CHANGE_NOTHING = frozenset({"cast", "identity"})


def every(situation: Situation) -> tuple[tuple[str, ...], ...]:
    """Return the operators of a fully explicit program that must be shown.

    Each is given by the names of its variable and of those that equal operators define; any of them
    will do. Nothing is returned for a program that leaves something to a planner.
    """
    function = situation.function
    try:
        program = read(function, situation.binding)
    except NotExplicit:
        return ()
    given = set(program.params)
    found: list[tuple[str, ...]] = []
    for step in program.steps:
        if not any(key in given for key, _ in step.reads):
            continue
        given.update(step.writes)
        if _runs(operators()[step.op]):
            var = step.writes[0][0]
            found.append(tuple(name_of(function, v) for v in (var, *program.merged.get(var, ()))))
    return tuple(found)


def some(situation: Situation) -> str | None:
    """Return one operator of the entry that must run, by its variable's name.

    For programs of any kind: ``None`` where all may be folded or dropped, or hang on a branch.
    """
    if not _has_elements(situation.observation.results):
        return None
    function = situation.function
    needed = _needed(function)
    given = set(function.params)
    for binding in function.body.bindings():
        if not given.intersection(nodes.operands(binding.value)):
            continue
        op = _operator(binding)
        if op is not None and op.has(Trait.METADATA):
            continue
        given.add(binding.var)
        if op is None or not _runs(op) or binding.var not in needed:
            continue
        if binding.request is not None or _makes_something_new(op, binding, given):
            return name_of(function, binding.var)
    return None


def _makes_something_new(op: OpDef, binding: nodes.Binding, given: Container[nodes.Var]) -> bool:
    """Whether no simplification does without an operator that nobody placed.

    What only moves elements may move none; what adds a constant may add nothing; and an engine may
    write activations as several operators of its own, none of which has the variable's name.
    """
    if op.has(Trait.INJECTIVE) or op.origin != _PRIMITIVE or op.name in _MAY_CHANGE_NOTHING:
        return False
    return all(operand in given for operand in nodes.operands(binding.value))


def _has_elements(results: Value) -> bool:
    return any(array.size for array in leaves(results))


def _runs(op: OpDef) -> bool:
    return not any(op.has(trait) for trait in _NOT_RUN)


def _operator(binding: nodes.Binding) -> OpDef | None:
    call = binding.value
    return operators().get(call.op) if isinstance(call, nodes.Call) else None


def _needed(function: nodes.Function) -> set[nodes.Var]:
    """Return the variables that the result is made from, as far as the entry's own bindings say."""
    needed = {function.body.result}
    for binding in reversed(list(function.body.bindings())):
        if binding.var in needed:
            needed.update(nodes.operands(binding.value))
    return needed
