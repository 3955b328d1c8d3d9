"""Writes the devices of one planned function into its types and suffixes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import final

from reference_vm.analysis.values import MOVES, Means, is_view
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Alias,
    Arm,
    Binding,
    BindPattern,
    Block,
    Call,
    Closure,
    Constant,
    ConstructorPattern,
    Expr,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    Match,
    Operand,
    Pattern,
    TuplePattern,
    Var,
    Weight,
    blocks,
    with_blocks,
    with_operands,
)
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.passes.instances import Instance
from reference_vm.types import FunctionType, TensorType, Type, VirtualDevice, map_tensors


@final
class Placer:
    """Places the variables of one instance; ``names`` are those of the instances it calls."""

    def __init__(
        self,
        instance: Instance,
        names: Mapping[Instance, str],
        ops: Mapping[str, OpDef],
        host: VirtualDevice,
    ) -> None:
        self.instance = instance
        self.indices = instance.graph.indices
        self.devices = instance.placement.devices
        self.names = names
        self.ops = ops
        self.host = host
        self.renamed: dict[Var, Var] = {}
        operations = instance.graph.operations
        self.callees = {operations[o].binding.var: i for o, i in instance.calls.items()}
        self.named = {(n.binding.var, n.operand): i for n, i in instance.names}
        self.plain = {
            name
            for name, op in ops.items()
            if name not in MOVES
            and name != "identity"
            and not op.traits & {Trait.VIEW, Trait.HOST, Trait.METADATA}
        }
        """The operators that run where their result lives."""

    def run(self) -> Function:
        """Return the function with every tensor placed."""
        function = self.instance.function
        params = tuple(self._placed(param) for param in function.params)
        leaves = iter(range(len(self.instance.graph.result)))

        def handed(leaf: TensorType) -> TensorType:
            return leaf.on(self.instance.result(next(leaves)))

        result = map_tensors(function.result, handed)
        return replace(function, params=params, result=result, body=self._block(function.body))

    def _placed(self, var: Var) -> Var:
        """Return ``var`` with its leaves where they live; all who read it are told."""
        found, type_ = self.indices[var], var.type
        if not found:
            return var
        if type(type_) is TensorType:
            device = self.devices[found[0]]
            if type_.vdevice is device:
                return var
            placed: Type = TensorType(type_.dtype, type_.shape, device)
        else:
            assert type_ is not None
            rest = iter(found)
            placed = map_tensors(type_, lambda leaf: leaf.on(self.devices[next(rest)]))
        new = Var(var.name, placed, var.span, var.source)
        self.renamed[var] = new
        return new

    def _block(self, block: Block) -> Block:
        made: list[Binding] = []
        for binding in block.bindings():
            value = binding.value
            if type(value) is Call:
                self._call(binding, value, made)
            else:
                made.append(self._other(binding, value))
        return Block(tuple(made), self.renamed.get(block.result, block.result))

    def _read(self, call: Call) -> Call:
        """Return ``call`` reading the placed variables."""
        get = self.renamed.get
        args: list[Operand] = [get(a, a) for a in call.args]  # type: ignore[arg-type]
        return Call(call.op, tuple(args), call.attrs, call.span)

    def _call(self, binding: Binding, call: Call, made: list[Binding]) -> None:
        read, var = self._read(call), self._placed(binding.var)
        if call.op in self.plain:
            type_ = var.type
            device = type_.vdevice if type(type_) is TensorType else self._runs(binding)
            made.append(Binding(var, read, device))
        else:
            self._unusual(binding, read, var, made)

    def _runs(self, binding: Binding) -> VirtualDevice | None:
        """Return where an operator with several results, or none, runs."""
        found = self.indices[binding.var]
        return self.devices[found[0]] if found else binding.request

    def _unusual(self, binding: Binding, read: Call, var: Var, made: list[Binding]) -> None:
        """Add a move, a view, or what runs on the host whatever reads it."""
        call, op, found = read, self.ops.get(read.op), self.indices[binding.var]
        if read.op in MOVES:
            made.append(self._move(binding, read, var))
        elif not found or op is None or is_view(binding, call, op):
            made.append(Binding(var, read, binding.request))
        elif op.has(Trait.HOST) and self.devices[found[0]] != self.host:
            own = rewrite.with_type(var, var.tensor.on(self.host))
            made.append(Binding(own, read, self.host))
            moved = Call(Means.FIXED.value, (own,), span=call.span)
            made.append(Binding(var, moved, self.devices[found[0]]))
        else:
            made.append(Binding(var, read, self.devices[found[0]]))

    def _move(self, binding: Binding, read: Call, var: Var) -> Binding:
        if MOVES[read.op] is not Means.HINT:
            return Binding(var, read, binding.request or var.vdevice)
        (source,) = read.args
        assert isinstance(source, Var)
        return Binding(var, Alias(source, read.span))

    def _other(self, binding: Binding, value: Expr) -> Binding:
        read = self._blocks(with_operands(value, self.renamed))
        var = self._placed(binding.var)
        if isinstance(read, Constant | Weight):
            return Binding(var, read, var.vdevice)
        if isinstance(read, Closure):
            assert isinstance(var.type, FunctionType)
            return Binding(var, replace(read, result=var.type.result), binding.request)
        if isinstance(read, Invoke | FunctionValue):
            read = self._functions(binding, read)
        return Binding(var, read, binding.request)

    def _blocks(self, value: Expr) -> Expr:
        if isinstance(value, Match):
            arms = tuple(Arm(self._pattern(a.pattern), a.body) for a in value.arms)
            value = replace(value, arms=arms)
        elif isinstance(value, Closure):
            value = replace(value, params=tuple(self._placed(p) for p in value.params))
        inner = blocks(value)
        return with_blocks(value, [self._block(b) for b in inner]) if inner else value

    def _pattern(self, pattern: Pattern) -> Pattern:
        match pattern:
            case BindPattern(var=var):
                return BindPattern(self._placed(var))
            case ConstructorPattern(items=items) | TuplePattern(items=items):
                return replace(pattern, items=tuple(map(self._pattern, items)))
            case _:
                return pattern

    def _functions(self, binding: Binding, value: Invoke | FunctionValue) -> Expr:
        """Return ``value`` with the names of the instances that it calls and mentions."""
        if isinstance(value, FunctionValue):
            return replace(value, ref=GlobalRef(self.names[self.named[binding.var, None]]))
        args = tuple(
            GlobalRef(self.names[self.named[binding.var, i]]) if isinstance(a, GlobalRef) else a
            for i, a in enumerate(value.args)
        )
        callee = value.callee
        if binding.var in self.callees:
            callee = GlobalRef(self.names[self.callees[binding.var]])
        return replace(value, callee=callee, args=args)


__all__ = ["Placer"]
