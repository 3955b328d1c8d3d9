"""Which values outlive what one function can see of them, so that holds on them are counted.

A value that a call is given or returns, that lies in a data type or is captured by a closure, may
live on elsewhere; how long, only a run can tell. Such a value is *counted*, and so is every value
that may be the same memory. All others die at a known place, which a memory plan makes use of.
For::

    %s = @add(%a, %b)           // a kernel
    %t = @exp(%s)
    %l = Cons(%t, %rest)
    %r = @length(%l)            // a function

``%t``, ``%l``, ``%rest`` and ``%r`` are counted, ``%s`` is not. Parameters and results of a
function that is only called from outside are not counted for that alone: the run keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_vm.analysis.aliases import Aliases, leaf_count
from reference_vm.analysis.recursion import CLOSURE, mentioned
from reference_vm.ir.nodes import (
    Binding,
    Call,
    Closure,
    Construct,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    Match,
    Module,
    Var,
    blocks,
    operands,
)
from reference_vm.ir.rewrite import introduced, walk


def called(module: Module) -> frozenset[str]:
    """Return the functions that other functions, or they themselves, call or name."""
    return frozenset(name for f in module.functions for name in mentioned(f))


def counted(function: Function, module: Module, found: Aliases, is_called: bool) -> frozenset[Var]:
    """Return the variables of ``function`` whose values are counted.

    Args:
        function: A function that is no kernel.
        module: The module it is of.
        found: What its variables may share.
        is_called: Whether another function calls it (`called`).
    """
    seeds = [v for b in walk(function.body) for v in _handed_on(b, module)]
    if is_called:
        seeds += (*function.params, function.body.result)
    if not seeds:
        return frozenset()
    classes = {leaf for var in seeds for leaf in found.classes(var)}
    variables = {var: found.classes(var) for var in found.first}
    while True:  # all of a tuple is counted if a part is
        reached = [c for c in variables.values() if not classes.isdisjoint(c)]
        more = {leaf for leaves in reached for leaf in leaves} - classes
        if not more:
            break
        classes |= more
    return frozenset(v for v, leaves in variables.items() if not classes.isdisjoint(leaves))


def counted_leaves(variables: frozenset[Var], found: Aliases) -> set[int]:
    """Return the classes of counted variables."""
    return {leaf for var in variables for leaf in found.classes(var)}


def _handed_on(binding: Binding, module: Module) -> Iterator[Var]:
    """Yield the variables by which a binding hands values to somewhere else, or gets them."""
    value = binding.value
    if not _hands_on(value, module):
        return
    for var in (binding.var, *operands(value), *introduced(value)):
        if leaf_count(var.type):
            yield var
    if isinstance(value, Match):
        yield from (block.result for block in blocks(value))


def _hands_on(value: object, module: Module) -> bool:
    match value:
        case Invoke(callee=GlobalRef(function=name)):
            return module.by_name[name].attrs.get("primitive") is not True
        case Call(op=op):
            return op == CLOSURE
        case Invoke() | Construct() | Match() | FunctionValue() | Closure():
            return True
        case _:
            return False


__all__ = ["called", "counted", "counted_leaves"]
