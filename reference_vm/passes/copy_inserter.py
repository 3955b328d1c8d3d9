"""Rewrites one placed function so that every read is local: the work of ``insert-copies``."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reference_vm.analysis.locality import (
    Demand,
    Locality,
    devices_in,
    devices_of,
    is_elsewhere,
    is_read,
)
from reference_vm.analysis.remote_reads import RemoteReads
from reference_vm.analysis.values import COPY, Means
from reference_vm.analysis.wants import First, Want, Wants
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Closure,
    Constant,
    Construct,
    Expr,
    Function,
    If,
    Invoke,
    MakeTuple,
    Match,
    Operand,
    Project,
    Var,
    Weight,
    blocks,
    with_blocks,
)
from reference_vm.passes.held_values import HeldValues
from reference_vm.types import TensorType, TupleType, map_tensors, tensors

FIXED: Final = Means.FIXED.value


class CopyInserter:
    """Rebuilds the blocks of one function."""

    def __init__(
        self,
        locality: Locality,
        held: HeldValues,
        remote: RemoteReads,
    ) -> None:
        self.locality = locality
        self.faces = locality.faces
        self.held = held
        self.remote = remote

    def function(self, function: Function, wants: Wants, end: Demand) -> Block:
        """Return the body of ``function`` with copies; ``end`` is where its result has to be."""
        return self._block(function.body, wants, end, None)

    def _block(self, block: Block, wants: Wants, end: Demand, reader: Binding | None) -> Block:
        outer, self.held.out = self.held.out, []
        out, remote = self.held.out, self.remote.bindings
        for index, binding in enumerate(block.bindings()):
            value = binding.value
            if isinstance(value, If | Match):
                self._hoist(wants, binding.var, index)
            if binding.var in remote:
                value = self._localized(binding)
            if type(value) is not Call and blocks(value):
                value = self._with_blocks(replace(binding, value=value), wants)
            if value is not binding.value:
                out.append(Binding(binding.var, value, binding.request))
            else:
                out.append(binding)
            if type(value) is not Call or value.op == COPY:
                self._note(binding, value)
        result = self._fit(block.result, end, reader)
        done, self.held.out = Block(tuple(self.held.out), result, block.span), outer
        return done

    def _hoist(self, wants: Wants, choice: Var, index: int) -> None:
        """Copy before a choice what its arms want and every path from here reads."""
        arms, before = wants.inner[choice], self.faces.before[choice]
        wanted: dict[Want, First] = {}
        for arm in arms:
            for want, first in arm.possible.items():
                wanted.setdefault(want, first)
        for want, first in wanted.items():
            every = all(want in arm.certain for arm in arms)
            if want[0] < before and (every or wants.certain.get(want, -1) > index):
                self.held.on(want[0], want[1], first)

    def _note(self, binding: Binding, value: Expr) -> None:
        """Remember what ``binding`` has made, and make the other devices' copies of a constant."""
        if isinstance(value, Constant | Weight):
            self._materialize(binding)
        elif isinstance(value, Project):
            self._hold_items(binding.var)
        elif isinstance(value, Invoke):
            self._deliver(binding, value)
        elif isinstance(value, Call):
            (source,) = value.args
            assert isinstance(source, Var)
            self.held.hold(self.faces.of[source][0], binding.var.vdevice, binding.var)

    def _hold_items(self, var: Var) -> None:
        if isinstance(var.type, TensorType):
            self.held.hold(self.faces.of[var][0], var.vdevice, var)

    def _materialize(self, binding: Binding) -> None:
        (face,) = self.faces.of[binding.var]
        for device in self.remote.constants.get(face, ()):
            var = Var(f"{binding.var.name}.{device.role}", binding.var.tensor.on(device))
            self.held.out.append(Binding(var, binding.value, device))
            self.held.hold(face, device, var)

    # One method a kind of expression; each returns it reading locally.

    def _localized(self, binding: Binding) -> Expr:
        value = binding.value
        match value:
            case Call():
                return self._call(binding, value)
            case Project():
                return self._project(binding, value)
            case Alias(var=var):
                (demand,) = self.locality.demands(binding)
                return replace(value, var=self._fit(var, demand, binding))
            case MakeTuple(items=items):
                return replace(value, items=self._fitted(items, binding))
            case Construct(args=args):
                return replace(value, args=self._fitted(args, binding))
            case Invoke(args=args):
                demands = self.locality.demands(binding)
                new = tuple(
                    self._fit(a, next(demands), binding) if isinstance(a, Var) else a for a in args
                )
                return replace(value, args=new)
            case If(condition=condition):
                (demand,) = self.locality.demands(binding)
                return replace(value, condition=self._fit(condition, demand, binding))
            case other:
                return other

    def _fitted(self, items: tuple[Var, ...], binding: Binding) -> tuple[Var, ...]:
        demands = self.locality.demands(binding)
        return tuple(self._fit(v, d, binding) for v, d in zip(items, demands, strict=True))

    def _call(self, binding: Binding, call: Call) -> Call:
        plain = self.locality.is_plain(binding)
        made = self._plain(binding, call) if plain else self._any_call(binding, call)
        if self.faces.views:
            for face in self.faces.of[binding.var]:
                if face in self.faces.views:
                    self.held.views[face] = made
        return made

    def _plain(self, binding: Binding, call: Call) -> Call:
        """Return a call that reads all its operands on its own device."""
        device, of, on = binding.var.vdevice, self.faces.of, self.held.on
        cause = "explicit" if call.op == FIXED else "read"
        args: list[Operand] = []
        for arg in call.args:
            if isinstance(arg, Var) and is_elsewhere(arg, device):
                face = of[arg][0]
                args.append(on(face, device, First(cause, binding, face)))
            else:
                args.append(arg)
        return Call(call.op, tuple(args), call.attrs, call.span)

    def _any_call(self, binding: Binding, call: Call) -> Call:
        reading = self.faces.reading(call.op)
        assert reading is not None
        asked = self.locality.demands(binding)

        def new(index: int, operand: Operand) -> Operand:
            if not is_read(index, operand, metadata=reading.metadata):
                return operand
            assert isinstance(operand, Var)
            return self._fit(operand, next(asked), binding)

        return replace(call, args=tuple(new(i, a) for i, a in enumerate(call.args)))

    def _project(self, binding: Binding, project: Project) -> Expr:
        (demand,) = self.locality.demands(binding)
        assert isinstance(project.tuple.type, TupleType)
        item = Var(binding.var.name, project.tuple.type.items[project.index])
        if isinstance(item.type, TupleType):
            item = self.held.projected(project.tuple, project.index)
        return Alias(self._moved(item, demand, binding), project.span)

    def _with_blocks(self, binding: Binding, wants: Wants) -> Expr:
        """Return the expression of ``binding`` with its blocks rewritten."""
        value = binding.value
        reader = None if isinstance(value, Closure) else binding
        rewritten = []
        inner = zip(
            blocks(value), wants.inner[binding.var], self.locality.yielded(binding), strict=True
        )
        for block, wanted, end in inner:
            self.held.open()
            rewritten.append(self._block(block, wanted, end, reader))
            self.held.close()
        return with_blocks(value, rewritten)

    def _deliver(self, binding: Binding, invoke: Invoke) -> None:
        """Move what a call returns to where the program wants it, if that is elsewhere."""
        var = binding.var
        assert var.type is not None
        made = self.locality.result(invoke)
        if devices_in(made) == devices_of(var):
            return
        call = self.held.out.pop()
        homes = iter([leaf.vdevice for leaf in tensors(made)])
        raw = Var(f"{var.name}.call", map_tensors(var.type, lambda leaf: leaf.on(next(homes))))
        self.faces.add(raw)
        self.held.out.append(replace(call, var=raw, request=None))
        demand = Demand(self.faces.of[raw], devices_of(var), "result")
        self.held.out.append(replace(call, value=Alias(self._moved(raw, demand, binding))))

    def _fit(self, var: Var, demand: Demand, reader: Binding | None) -> Var:
        """Return ``var``, or what holds its leaves where ``demand`` asks for them."""
        return var if devices_of(var) == demand.devices else self._moved(var, demand, reader)

    def _moved(self, var: Var, demand: Demand, reader: Binding | None) -> Var:
        pairs = zip(demand.faces, demand.devices, strict=True)
        leaves = [self.held.on(f, device, First(demand.cause, reader, f)) for f, device in pairs]
        if isinstance(var.type, TensorType):
            return leaves[0]
        return self.held.rebuilt(var, leaves)


__all__ = ["CopyInserter"]
