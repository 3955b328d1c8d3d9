"""Functions that are loops: all of their calls of themselves are tail calls.

In such a function a parameter that every such call passes on as it came is *invariant*::

    fn @trips(%i: i64[], %v: f32[2]) -> f32[2] {
      …
      %r = if %more {
        %q = @trips(%j, %v)       // a tail call, %v is invariant
        yield %q
      } else { … }
      return %r
    }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import final

from reference_vm.analysis.recursion import mentioned
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Closure,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    Operand,
    Var,
    blocks,
)
from reference_vm.ir.rewrite import walk


@final
@dataclass(frozen=True, slots=True)
class Loop:
    """A function that is a loop."""

    function: Function
    calls: tuple[Binding, ...]
    """Its calls of itself."""

    invariant: tuple[Var, ...]

    def repeated(self) -> Iterator[Binding]:
        """Yield the bindings that may run once a trip, those of the last trip alone left out."""
        yield from repeated(self.function, {self.function.name})


def loop(function: Function) -> Loop | None:
    """Return ``function`` as a loop, if it is one."""
    if function.name not in mentioned(function):
        return None
    calls = tuple(b for b in walk(function.body) if _is_call(b, function.name))
    if not calls or any(_is_named(b, function.name) for b in walk(function.body)):
        return None
    if set(_tail_calls(function.body, function.name)) != {b.var for b in calls}:
        return None
    aliases = {b.var: b.value.var for b in walk(function.body) if isinstance(b.value, Alias)}
    invariant = tuple(
        param
        for index, param in enumerate(function.params)
        if all(_argument(call, index, aliases) is param for call in calls)
    )
    return Loop(function, calls, invariant)


def _is_call(binding: Binding, name: str) -> bool:
    return isinstance(binding.value, Invoke) and binding.value.callee == GlobalRef(name)


def _is_named(binding: Binding, name: str) -> bool:
    """Whether ``binding`` names the function as a value."""
    value = binding.value
    if isinstance(value, FunctionValue):
        return value.ref.function == name
    return isinstance(value, Invoke) and GlobalRef(name) in value.args


def _argument(call: Binding, index: int, aliases: Mapping[Var, Var]) -> Operand:
    """Return what a call passes, by its first name."""
    assert isinstance(call.value, Invoke)
    operand = call.value.args[index]
    while isinstance(operand, Var) and operand in aliases:
        operand = aliases[operand]
    return operand


def _tail_calls(block: Block, name: str) -> Iterator[Var]:
    """Yield the variables of the tail calls in a block that is in tail position."""
    last = block.result
    for binding in reversed(tuple(block.bindings())):
        if binding.var is not last:
            return
        value = binding.value
        if _is_call(binding, name):
            yield binding.var
        elif isinstance(value, Alias):
            last = value.var
            continue
        elif not isinstance(value, Closure):
            for inner in blocks(value):
                yield from _tail_calls(inner, name)
        return


def repeated(function: Function, names: AbstractSet[str]) -> Iterator[Binding]:
    """Yield the bindings that may run once a trip through ``function``.

    What runs in the last trip alone is left out: arms that call none of ``names``, the functions
    that call one another, beside arms that do.
    """
    yield from _repeated(function.body, names)


def _repeated(block: Block, names: AbstractSet[str]) -> Iterator[Binding]:
    for binding in block.bindings():
        yield binding
        inner = blocks(binding.value)
        for arm in [b for b in inner if goes_on(b, names)] or inner:
            yield from _repeated(arm, names)


def goes_on(block: Block, names: AbstractSet[str]) -> bool:
    """Whether ``block`` calls one of ``names``."""
    return any(
        isinstance(b.value, Invoke)
        and isinstance(b.value.callee, GlobalRef)
        and b.value.callee.function in names
        for b in walk(block)
    )


__all__ = ["Loop", "goes_on", "loop", "repeated"]
