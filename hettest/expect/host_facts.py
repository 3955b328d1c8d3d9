"""Which unplaced operators may run on the host since they compute shapes and conditions.

An operator with integer or bool results may if all that it reads, constants aside, are such facts
(shapes, and what comes of them), or if the host alone reads it: as a reshape target, a condition,
or for another such operator. What goes through calls, data types and closures may be read by the
host there, so that this is more than planning.md says of those, and exactly that of all else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from hettest.case import walk
from hettest.case.dtypes import types_of
from hettest.case.walk import name_of
from hettest.language import Module, ShapeType, TensorType, Trait, Type, leaves, nodes, operators

_PASSED_ON: Final = (nodes.Alias, nodes.MakeTuple, nodes.Project)
_ELSEWHERE: Final = (nodes.Invoke, nodes.Construct, nodes.Closure, nodes.FunctionValue)


def host_facts(module: Module, operations: Collection[str]) -> frozenset[str]:
    """Return those of ``operations``, given as ``main/%s``, that may run on the host."""
    found: set[str] = set()
    for function in module.functions:
        found |= _Facts(module, function, operations).names()
    return frozenset(found)


@final
@dataclass
class _Facts:
    module: Module
    function: nodes.Function
    operations: Collection[str]
    reads: dict[nodes.Var, list[nodes.Var]] = field(default_factory=dict)
    """What each variable is computed from, constants aside."""

    readers: dict[nodes.Var, list[nodes.Var | None]] = field(default_factory=dict)
    """Who reads each variable's data where it runs; ``None`` is someone who is not the host."""

    read_by_host: set[nodes.Var] = field(default_factory=set)
    seeds: set[nodes.Var] = field(default_factory=set)
    """Shapes, and what else is on the host by its nature."""

    def names(self) -> set[str]:
        types = types_of(self.module, self.function)
        self._read()
        facts = set(self.seeds)
        while more := {v for v in self.reads if v not in facts and self._is_fact(v, facts, types)}:
            facts |= more
        return {n for v in facts if (n := name_of(self.function, v)) in self.operations}

    def _is_fact(
        self, var: nodes.Var, facts: set[nodes.Var], types: Mapping[nodes.Var, Type]
    ) -> bool:
        if not _is_integral(types.get(var)):
            return False
        reads = self.reads[var]
        if reads and all(v in facts for v in reads):
            return True
        readers = self.readers.get(var, [])
        is_read = bool(readers) or var in self.read_by_host
        return is_read and all(v is not None and v in facts for v in readers)

    def _read(self) -> None:
        constants: set[nodes.Var] = set()
        for binding in walk.bindings(self.function):
            var, value = binding.var, binding.value
            if isinstance(value, nodes.Constant | nodes.Weight):
                constants.add(var)
                continue
            self.reads[var] = [
                v for v in nodes.operands(value) if isinstance(v, nodes.Var) and v not in constants
            ]
            self._note(binding)
        self.readers.setdefault(self.function.body.result, []).append(
            None if self.function in self.module.entries else self.function.body.result
        )

    def _note(self, binding: nodes.Binding) -> None:
        """Note who reads what the binding reads."""
        var, value = binding.var, binding.value
        match value:
            case nodes.Call():
                self._note_call(var, value)
            case nodes.If(condition=condition):
                self.read_by_host.add(condition)
                for block in nodes.blocks(value):
                    self.reads[var].append(block.result)
                    self.readers.setdefault(block.result, []).append(var)
            case nodes.Match():
                for block in nodes.blocks(value):
                    self.reads[var].append(block.result)
                    self.readers.setdefault(block.result, []).append(var)
            case _ if isinstance(value, _ELSEWHERE):
                self.read_by_host |= {v for v in nodes.operands(value) if isinstance(v, nodes.Var)}
            case _:
                for source in self.reads[var]:
                    self.readers.setdefault(source, []).append(var)

    def _note_call(self, var: nodes.Var, call: nodes.Call) -> None:
        op = operators().get(call.op)
        if op is not None and (op.has(Trait.HOST) or op.has(Trait.METADATA)):
            self.seeds.add(var)
        for index, operand in enumerate(call.args):
            if not isinstance(operand, nodes.Var):
                continue
            if op is None or (index == 0 and op.has(Trait.METADATA)):
                continue
            if op.is_host_operand(index):
                self.read_by_host.add(operand)
            else:
                self.readers.setdefault(operand, []).append(var)


def _is_integral(type_: Type | None) -> bool:
    """Whether a value may be one of integers or bools; a type that is not known may."""
    if type_ is None or isinstance(type_, ShapeType):
        return True
    return not any(leaf.dtype.is_float for leaf in leaves(type_) if isinstance(leaf, TensorType))
