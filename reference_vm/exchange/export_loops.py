"""Which functions are loops that ONNX has a word for.

A function that decides once, and on one side ends in a call of itself, is ONNX's ``Loop``::

    fn @loop(%i: i64[], %v: f32[2]) -> f32[2] {
      …                              // before: may decide
      %r = if %more {
        …                            // again: what the next trip is given
        %rest = @loop(%j, %w)
        yield %rest
      } else {
        …                            // leaving
        yield %done
      }
      return %r
    }

What it is given is what the ``Loop`` carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from reference_vm.ir.nodes import Binding, Block, Function, GlobalRef, If, Invoke, Var
from reference_vm.ir.rewrite import walk


@final
@dataclass(frozen=True, slots=True)
class LoopForm:
    """A function that is a loop, in its parts."""

    before: tuple[Binding, ...]
    condition: Var
    again: tuple[Binding, ...]
    """Of the side that goes on, without the call."""

    arguments: tuple[Var, ...]
    """What the call is given."""

    leaving: Block
    goes_on: bool
    """Whether it goes on where the condition holds, or where it does not."""


def loop_form(function: Function) -> LoopForm | None:
    """Return the parts of ``function``, or ``None`` if it is no such loop."""
    bindings = tuple(function.body.bindings())
    if not bindings or bindings[-1].var is not function.body.result:
        return None
    choice = bindings[-1].value
    if not isinstance(choice, If) or any(_calls(b, function.name) for b in bindings[:-1]):
        return None
    for again, leaving, goes_on in (
        (choice.then, choice.orelse, True),
        (choice.orelse, choice.then, False),
    ):
        arguments = _tail_call(again, function.name)
        if arguments is None or any(_calls(b, function.name) for b in leaving.bindings()):
            continue
        rest = tuple(again.bindings())[:-1]
        if any(_calls(b, function.name) for b in rest):
            return None
        return LoopForm(bindings[:-1], choice.condition, rest, arguments, leaving, goes_on)
    return None


def _tail_call(block: Block, name: str) -> tuple[Var, ...] | None:
    """Return the arguments of the call that ``block`` ends in, if it is one of ``name``."""
    bindings = tuple(block.bindings())
    if not bindings or bindings[-1].var is not block.result:
        return None
    value = bindings[-1].value
    if not isinstance(value, Invoke) or value.callee != GlobalRef(name):
        return None
    arguments = tuple(a for a in value.args if isinstance(a, Var))
    return arguments if len(arguments) == len(value.args) else None


def _calls(binding: Binding, name: str) -> bool:
    """Whether a binding, or one inside it, calls ``name``."""
    return any(
        isinstance(b.value, Invoke) and b.value.callee == GlobalRef(name)
        for b in walk(Block((binding,), binding.var))
    )


__all__ = ["LoopForm", "loop_form"]
