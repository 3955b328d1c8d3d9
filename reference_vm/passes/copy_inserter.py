"""Rewrites one placed function so that every read is local: the work of ``insert-copies``."""

from __future__ import annotations

from dataclasses import replace

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.locality import (
    Demand,
    First,
    Wants,
    demands,
    device_of_read,
    devices_of,
)
from reference_vm.analysis.values import MOVES, Means, operand_reads
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Constant,
    Function,
    If,
    MakeTuple,
    Operand,
    Project,
    Var,
    Weight,
)
from reference_vm.passes.held_values import HeldValues
from reference_vm.types import TensorType, TupleType, VirtualDevice


class CopyInserter:
    """Rebuilds the blocks of one function."""

    def __init__(self, graph: FunctionValues, host: VirtualDevice, held: HeldValues) -> None:
        self.graph = graph
        self.host = host
        self.held = held

    def function(self, function: Function, wants: Wants, end: Demand) -> Block:
        """Return the body of ``function`` with copies; ``end`` is where its result has to be."""
        for param in function.params:
            self.held.hold_leaves(self.graph.faces_of[param], param)
        return self._block(function.body, wants, end, None)

    def _block(self, block: Block, wants: Wants, end: Demand, reader: Binding | None) -> Block:
        outer, self.held.out = self.held.out, []
        for index, binding in enumerate(block.bindings()):
            if isinstance(binding.value, If):
                self._hoist(wants, binding, index)
            new = self._binding(binding, wants)
            self.held.out.append(new)
            self._note(new)
        result = self._fit(block.result, end, reader)
        done, self.held.out = Block(tuple(self.held.out), result), outer
        return done

    def _hoist(self, wants: Wants, binding: Binding, index: int) -> None:
        """Copy before the ``if`` what its arms want and every path from here reads."""
        then, orelse = wants.arms[binding.var]
        for want, first in (*then.possible.items(), *orelse.possible.items()):
            both = want in then.certain and want in orelse.certain
            root = self.held.root(first.face)
            if (both or wants.certain.get(want, -1) > index) and self.held.knows(root):
                self.held.on(root, want[1], first)

    def _binding(self, binding: Binding, wants: Wants) -> Binding:
        value = binding.value
        if isinstance(value, If):
            return self._if(binding, value, wants)
        if isinstance(value, Project):
            return self._project(binding, value)
        if isinstance(value, Alias):
            (demand,) = demands(binding, self.graph, self.host)
            return replace(binding, value=replace(value, var=self._fit(value.var, demand, binding)))
        if isinstance(value, MakeTuple):
            return self._tuple(binding, value)
        if isinstance(value, Call):
            return self._call(binding, value)
        return binding

    def _note(self, binding: Binding) -> None:
        """Remember what ``binding`` has made, and make the other devices' copies of a constant."""
        faces = self.graph.faces_of[binding.var]
        self.held.hold_leaves(faces, binding.var)
        value = binding.value
        if isinstance(value, Constant | Weight):
            self._materialize(binding, faces[0])
        if isinstance(value, Call) and MOVES.get(value.op) is Means.COPY:
            (source,) = value.args
            assert isinstance(source, Var)
            self.held.hold(self.graph.faces_of[source][0], binding.var.vdevice, binding.var)

    def _materialize(self, binding: Binding, face: int) -> None:
        value = self.graph.values[self.graph.faces[face].value]
        readers = (device_of_read(read, self.graph, self.host) for read in value.reads)
        for device in dict.fromkeys(readers):
            if device is None or device == binding.var.vdevice:
                continue
            var = Var(f"{binding.var.name}.{device.role}", binding.var.tensor.on(device))
            self.held.out.append(Binding(var, binding.value, device))
            self.held.hold(face, device, var)

    def _call(self, binding: Binding, call: Call) -> Binding:
        op = self.graph.ops[call.op]
        read = {var for var, _ in operand_reads(call, op)}
        asked = iter(demands(binding, self.graph, self.host))
        copies = MOVES.get(call.op) is Means.COPY

        def new(operand: Operand) -> Operand:
            if not isinstance(operand, Var) or copies or operand not in read:
                return operand
            return self._fit(operand, next(asked), binding)

        new_call = replace(call, args=tuple(map(new, call.args)))
        (face, *_) = self.graph.faces_of[binding.var] or (None,)
        if face is not None and self.graph.faces[face].view is not None:
            self.held.views[face] = new_call
        return replace(binding, value=new_call)

    def _if(self, binding: Binding, value: If, wants: Wants) -> Binding:
        (demand,) = demands(binding, self.graph, self.host)
        condition = self._fit(value.condition, demand, binding)
        devices = devices_of(binding.var)
        blocks = []
        for arm, wanted in zip((value.then, value.orelse), wants.arms[binding.var], strict=True):
            self.held.open()
            end = Demand(self.graph.faces_of[arm.result], devices, "read")
            blocks.append(self._block(arm, wanted, end, binding))
            self.held.close()
        then, orelse = blocks
        return replace(binding, value=replace(value, condition=condition, then=then, orelse=orelse))

    def _project(self, binding: Binding, project: Project) -> Binding:
        (demand,) = demands(binding, self.graph, self.host)
        assert isinstance(project.tuple.type, TupleType)
        lives = devices_of(Var("", project.tuple.type.items[project.index]))
        if lives == demand.devices:
            return binding
        item = Var(binding.var.name, project.tuple.type.items[project.index])
        if isinstance(item.type, TupleType):
            item = self.held.projected(project.tuple, project.index)
        return replace(binding, value=Alias(self._moved(item, demand, binding), project.span))

    def _tuple(self, binding: Binding, value: MakeTuple) -> Binding:
        (demand,) = demands(binding, self.graph, self.host)
        items, start = [], 0
        for item in value.items:
            stop = start + len(self.graph.faces_of[item])
            part = Demand(demand.faces[start:stop], demand.devices[start:stop], demand.cause)
            items.append(self._fit(item, part, binding))
            start = stop
        return replace(binding, value=replace(value, items=tuple(items)))

    def _fit(self, var: Var, demand: Demand, reader: Binding | None) -> Var:
        """Return ``var``, or what holds its leaves where ``demand`` asks for them."""
        return var if devices_of(var) == demand.devices else self._moved(var, demand, reader)

    def _moved(self, var: Var, demand: Demand, reader: Binding | None) -> Var:
        first = First(demand.cause, reader, -1)
        pairs = zip(demand.faces, demand.devices, strict=True)
        leaves = [self.held.on(face, device, replace(first, face=face)) for face, device in pairs]
        if isinstance(var.type, TensorType):
            return leaves[0]
        return self.held.rebuilt(var, leaves)


__all__ = ["CopyInserter"]
