"""The type of each variable of a program, as far as it can be told without compiling it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from hettest.case import walk
from hettest.language import (
    DiagnosticError,
    Module,
    TensorType,
    TupleType,
    Type,
    infer_call,
    nodes,
    operators,
)


def types_of(module: Module, function: nodes.Function) -> Mapping[nodes.Var, Type]:
    """Return the types that are written down, and those that operators give to their results.

    A variable whose type cannot be told is absent; nothing is refused here.
    """
    reader = _Reader({f.name: f.result for f in module.functions})
    for param in function.params:
        reader.note(param, param.type)
    for binding in walk.bindings(function):
        reader.note(binding.var, binding.var.type)
        if binding.var.type is None:
            reader.read(binding)
    for var in reader.branches:
        reader.note(var, reader.type(var))
    return reader.types


@final
@dataclass
class _Reader:
    results: Mapping[str, Type]
    """What each function of the module returns."""

    types: dict[nodes.Var, Type] = field(default_factory=dict)
    branches: dict[nodes.Var, nodes.Var] = field(default_factory=dict)
    """What stands for the result of a choice: its first branch's, which is read after it."""

    def note(self, var: nodes.Var, type_: Type | None) -> None:
        if type_ is not None:
            self.types[var] = type_

    def type(self, var: nodes.Var) -> Type | None:
        while var in self.branches:
            var = self.branches[var]
        return self.types.get(var)

    def read(self, binding: nodes.Binding) -> None:
        """Note the type of what the binding computes."""
        match binding.value:
            case nodes.If(then=block):
                self.branches[binding.var] = block.result
            case nodes.Match(arms=arms) if arms:
                self.branches[binding.var] = arms[0].body.result
            case value:
                self.note(binding.var, self._of(value))

    def _of(self, value: nodes.Expr) -> Type | None:
        match value:
            case nodes.Alias(var=source):
                return self.type(source)
            case nodes.Constant() | nodes.Weight():
                return TensorType(value.dtype, value.shape)
            case nodes.Invoke(callee=nodes.GlobalRef(function=name)):
                return self.results.get(name)
            case nodes.Project(tuple=source, index=index):
                return self._item(self.type(source), index)
            case nodes.MakeTuple(items=items):
                types = [self.type(item) for item in items]
                known = tuple(t for t in types if t is not None)
                return TupleType(known) if len(known) == len(types) else None
            case nodes.Call():
                return self._result(value)
            case _:
                return None

    def _item(self, type_: Type | None, index: int) -> Type | None:
        if not isinstance(type_, TupleType) or index >= len(type_.items):
            return None
        return type_.items[index]

    def _result(self, call: nodes.Call) -> Type | None:
        op = operators().get(call.op)
        args = [self.type(arg) if isinstance(arg, nodes.Var) else None for arg in call.args]
        unknown = any(
            type_ is None and arg is not None for type_, arg in zip(args, call.args, strict=True)
        )
        if op is None or unknown:
            return None
        try:
            return infer_call(op, args, call.attrs, [None] * len(args)).type
        except DiagnosticError:  # what is wrong with the program is for others to say
            return None
