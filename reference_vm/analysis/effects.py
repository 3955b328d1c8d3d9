"""Which functions do more than make their result: write a copy down, or check a value.

A binding that nobody reads goes unless it *has an effect*: a ``device_copy`` or ``to_vdevice``, a
``match_cast``, what no operator is known for, and a call of a function in which there is one. An
operator that may fail has none, nor has recursion that may be too deep: when nobody reads the
result, the error goes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import final

from reference_vm.analysis.recursion import mentioned
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Binding,
    Call,
    Closure,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    Module,
    Var,
    blocks,
)
from reference_vm.ops.definition import OpDef, Trait


@final
class Effects:
    """Says which bindings of a module have an effect."""

    def __init__(self, module: Module, ops: Mapping[str, OpDef]) -> None:
        self.module = module
        self.ops = ops

    def has_one(self, binding: Binding) -> bool:
        """Whether ``binding`` does more than make its value."""
        value = binding.value
        if isinstance(value, Call):
            return self._is_effect(value)
        if isinstance(value, Invoke):
            return self._may_act(value)
        if isinstance(value, Closure):
            return False
        return any(self.has_one(b) for inner in blocks(value) for b in inner.bindings())

    def _is_effect(self, call: Call) -> bool:
        op = self.ops.get(call.op)
        return op is None or op.has(Trait.MOVES_DATA) or call.op == "match_cast"

    def _may_act(self, invoke: Invoke) -> bool:
        """Whether what ``invoke`` calls has an effect: any value, of one that is not known."""
        if isinstance(invoke.callee, Var):
            return self._values
        if invoke.callee.function in self._acting:
            return True
        return any(isinstance(a, GlobalRef) and a.function in self._acting for a in invoke.args)

    @cached_property
    def _values(self) -> bool:
        """Whether any function that is a value in the module has an effect."""
        for function in self.module.functions:
            for binding in rewrite.walk(function.body):
                value = binding.value
                named = value.args if isinstance(value, Invoke) else ()
                if isinstance(value, FunctionValue):
                    named = (value.ref,)
                if any(isinstance(r, GlobalRef) and r.function in self._acting for r in named):
                    return True
                if isinstance(value, Closure) and self._acts(value):
                    return True
        return False

    def _acts(self, inside: Function | Closure) -> bool:
        return any(
            isinstance(b.value, Call) and self._is_effect(b.value)
            for b in rewrite.walk(inside.body)
        )

    @cached_property
    def _acting(self) -> frozenset[str]:
        """The functions in which there is an effect, or that call or name one of those.

        One with a closure that has an effect may call it, and so may what it gives it to.
        """
        callers: dict[str, set[str]] = {}
        for function in self.module.functions:
            for name in mentioned(function):
                callers.setdefault(name, set()).add(function.name)
        found = {f.name for f in self.module.functions if self._acts(f)}
        stack = list(found)
        while stack:
            new = callers.get(stack.pop(), set()) - found
            found |= new
            stack += new
        return frozenset(found)


__all__ = ["Effects"]
