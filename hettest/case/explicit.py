"""A fully explicit program as a list of steps, each with its device.

A program is fully explicit when nothing is left to a planner: every operator is requested, there is
no control flow, no call and nothing to fold, and no view is seen from two devices. For such
programs `planning.md` section 3 says exactly how many transfers there are.

Values are written ``(variable, item)``, item counting the results of an operator with several;
tuples are looked through. Steps that the result does not need are left out, and of equal steps all
but the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, final

from hettest.devicemap import Binding
from hettest.language import (
    DiagnosticError,
    OpDef,
    TensorType,
    Trait,
    TupleType,
    Type,
    VirtualDevice,
    infer_call,
    nodes,
    operators,
)

HOST = "cpu:0"
"""Where arguments arrive, and where host reads happen."""

Key: TypeAlias = "tuple[nodes.Var, int]"


class NotExplicit(Exception):
    """The program leaves something to the planner; the message says what."""


@final
@dataclass(frozen=True)
class Step:
    """One executed operator."""

    op: str
    device: str
    reads: tuple[tuple[Key, str], ...]
    """The values whose data it reads, each with the device it reads on."""

    writes: tuple[Key, ...]
    is_view: bool = False


@final
@dataclass(frozen=True)
class Program:
    """A fully explicit program under one binding."""

    params: Mapping[Key, str | None]
    """Each tensor among the parameters, with the device that its type pins it to."""

    steps: tuple[Step, ...]
    results: tuple[tuple[Key, str | None], ...]
    """Each tensor of the result, with the device that the result's type pins it to."""

    types: Mapping[Key, TensorType]
    merged: Mapping[nodes.Var, tuple[nodes.Var, ...]]
    """The variables of steps that were left out, by that of the equal step that stands for them."""


def read(function: nodes.Function, binding: Binding) -> Program:
    """Return ``function`` as steps.

    Raises:
        NotExplicit: It leaves something to the planner.
    """
    return _Reader(function, binding).program()


@final
@dataclass
class _Reader:
    function: nodes.Function
    binding: Binding
    ops: Mapping[str, OpDef] = field(default_factory=operators)
    items: dict[nodes.Var, tuple[Key, ...]] = field(default_factory=dict)
    """The values that each variable stands for, tuples and aliases looked through."""

    types: dict[Key, TensorType] = field(default_factory=dict)
    full: dict[nodes.Var, Type] = field(default_factory=dict)
    contents: dict[nodes.Var, object] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    calls: dict[object, nodes.Var] = field(default_factory=dict)
    merged: dict[nodes.Var, tuple[nodes.Var, ...]] = field(default_factory=dict)

    def program(self) -> Program:
        params: dict[Key, str | None] = {}
        for param in self.function.params:
            assert param.type is not None
            self._declare(param, param.type)
            params.update((key, self._pin(self.types[key])) for key in self.items[param])
        for binding in self.function.body.bindings():
            self._read(binding)
        results = tuple(self._results())
        return Program(params, tuple(self._live(results)), results, self.types, self.merged)

    def _declare(self, var: nodes.Var, type_: Type) -> None:
        self.full[var] = type_
        leaves = type_.items if isinstance(type_, TupleType) else (type_,)
        if not all(isinstance(leaf, TensorType) for leaf in leaves):
            raise NotExplicit(f"%{var.name} is {type_}, not a tensor or a tuple of tensors")
        keys = tuple((var, i) for i in range(len(leaves)))
        self.items[var] = keys
        self.types.update(
            (k, t) for k, t in zip(keys, leaves, strict=True) if isinstance(t, TensorType)
        )

    def _device(self, role: VirtualDevice) -> str:
        if role.device is not None:
            return str(role.device)
        return self.binding.get(role.role, HOST)

    def _pin(self, type_: TensorType) -> str | None:
        return None if type_.vdevice is None else self._device(type_.vdevice)

    def _read(self, binding: nodes.Binding) -> None:
        var, value = binding.var, binding.value
        match value:
            case nodes.Call():
                self._call(binding, value)
            case nodes.Alias(var=source):
                self._share(binding, self.items[source], self.full[source])
            case nodes.MakeTuple(items=items):
                keys = tuple(key for item in items for key in self.items[item])
                self._share(binding, keys, TupleType(tuple(self.full[i] for i in items)))
            case nodes.Project(tuple=source, index=index):
                type_ = self.full[source]
                assert isinstance(type_, TupleType)
                self._share(binding, self.items[source][index : index + 1], type_.items[index])
            case _:
                kind = type(value).__name__.lower()
                raise NotExplicit(f"%{var.name} is a {kind}; only operators are fully explicit")

    def _share(self, binding: nodes.Binding, keys: tuple[Key, ...], type_: Type) -> None:
        if binding.request is not None:
            raise NotExplicit(f"%{binding.var.name} pins a value that another variable names")
        self.items[binding.var] = keys
        self.full[binding.var] = type_

    def _call(self, binding: nodes.Binding, call: nodes.Call) -> None:
        op = self.ops.get(call.op)
        if op is None:
            raise NotExplicit(f"{call.op} is not an operator")
        if call.op in ("to_vdevice", "hint_on_device"):
            raise NotExplicit(f"%{binding.var.name} is a {call.op}, which leaves the copy open")
        device = self._request(binding, op)
        first = self._first_equal(binding, call, op, device)
        if first is not None:
            self.merged[first] = (*self.merged.get(first, ()), binding.var)
            self.items[binding.var] = self.items[first]
            self.full[binding.var] = self.full[first]
            return
        self._declare(binding.var, self._type(binding, call, op))
        reads = tuple(self._reads(call, op, device))
        if op.has(Trait.VIEW):
            self._check_view(binding, reads, device)
        step = Step(call.op, device, reads, self.items[binding.var], op.has(Trait.VIEW))
        self.steps.append(step)

    def _request(self, binding: nodes.Binding, op: OpDef) -> str:
        if binding.request is not None:
            return self._device(binding.request)
        if op.has(Trait.HOST):
            return HOST
        raise NotExplicit(f"%{binding.var.name} = {op.name} is not requested on a role")

    def _first_equal(
        self, binding: nodes.Binding, call: nodes.Call, op: OpDef, device: str
    ) -> nodes.Var | None:
        if op.has(Trait.MOVES_DATA) or op.has(Trait.CAN_FAIL):
            return None
        operands = tuple(self.items[a] if isinstance(a, nodes.Var) else a for a in call.args)
        first = self.calls.setdefault((call.op, operands, call.attrs, device), binding.var)
        return None if first is binding.var else first

    def _type(self, binding: nodes.Binding, call: nodes.Call, op: OpDef) -> Type:
        if call.op == "match_cast":
            raise NotExplicit(f"%{binding.var.name} is a match_cast, a view without a request")
        args = [a if isinstance(a, nodes.Var) else None for a in call.args]
        types = [self.full[a] if a is not None else None for a in args]
        try:
            return infer_call(op, types, call.attrs, [None] * len(args)).type
        except DiagnosticError as error:
            raise NotExplicit(f"%{binding.var.name}: {error.diagnostics[0].message}") from error

    def _reads(self, call: nodes.Call, op: OpDef, device: str) -> Iterator[tuple[Key, str]]:
        if op.has(Trait.METADATA):
            return
        for index, operand in enumerate(call.args):
            if not isinstance(operand, nodes.Var):
                continue
            where = HOST if op.is_host_operand(index) else device
            yield from ((key, where) for key in self.items[operand])

    def _check_view(
        self, binding: nodes.Binding, reads: tuple[tuple[Key, str], ...], device: str
    ) -> None:
        viewed = reads[0][0]
        made = [step.device for step in self.steps if viewed in step.writes]
        if made != [device]:
            raise NotExplicit(f"%{binding.var.name} is a view at a seam between devices")

    def _results(self) -> Iterator[tuple[Key, str | None]]:
        keys = self.items[self.function.body.result]
        declared = self.function.result
        pins = declared.items if isinstance(declared, TupleType) else (declared,)
        if len(pins) != len(keys):
            raise NotExplicit("the result is a nested tuple")
        for key, type_ in zip(keys, pins, strict=True):
            yield key, self._pin(type_) if isinstance(type_, TensorType) else None

    def _live(self, results: tuple[tuple[Key, str | None], ...]) -> list[Step]:
        needed = {key for key, _ in results}
        live: list[Step] = []
        for step in reversed(self.steps):
            fails = self.ops[step.op].has(Trait.CAN_FAIL)
            if fails or needed.intersection(step.writes):
                live.append(step)
                needed.update(key for key, _ in step.reads)
        return live[::-1]
