"""The target that every operator works on: `OpDef.compute` over the device's array namespace.

It runs the operators of a primitive function one after the other, so it gains nothing from fusion
and asks for none. On `cpu` and `sim` the namespace is NumPy, on `cuda` CuPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Final, TypeAlias, final

import numpy as np

from reference_vm.bytecode.kernel import Kernel, NativeCall
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Call,
    Constant,
    Function,
    MakeTuple,
    Operand,
    Project,
    ShapeLiteral,
    Var,
)
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import Compute, OpDef
from reference_vm.targets.unpacking import unpacking
from reference_vm.types import TupleType
from reference_vm.types.arrays import to_numpy


class KernelFault(RuntimeError):
    """An operator computed something else than its type rule promised: a fault of the operator."""


@final
@dataclass(frozen=True, slots=True)
class LibraryKernel:
    """One operator."""

    name: str
    ops: tuple[str, ...]
    compute: Compute
    places: tuple[int | None, ...]
    """Which input each operand is."""

    attrs: Mapping[str, Any]
    several: bool
    """Whether the results are a tuple."""

    can_fail: bool
    takes_out: bool = False
    """Whether ``compute`` writes its one result where it is to be."""

    library: bool = True

    def native(self, inputs: Sequence[Any]) -> NativeCall | None:
        """Return nothing: a library is called from Python."""
        return None

    def __call__(
        self, xp: Any, inputs: Sequence[Any], outputs: Sequence[Any | None]
    ) -> Sequence[Any]:
        operands = [None if p is None else inputs[p] for p in self.places]
        if self.takes_out:
            result = self.compute(xp, *operands, **self.attrs, out=outputs[0])
        else:
            result = self.compute(xp, *operands, **self.attrs)
        if not self.several:
            return (_deliver(self.name, xp, result, outputs[0], inputs),)
        return tuple(
            _deliver(self.name, xp, r, out, inputs) for r, out in zip(result, outputs, strict=True)
        )


def _deliver(name: str, xp: Any, result: Any, out: Any | None, inputs: Sequence[Any]) -> Any:
    """Return ``result``: in ``out`` if that is given, else in memory that no input has."""
    if out is None:
        return result if isinstance(result, tuple) else _fresh(xp, xp.asarray(result), inputs)
    if result.dtype != out.dtype or result.shape != out.shape:
        raise KernelFault(
            f"{name} computed {result.dtype}{list(result.shape)}, "
            f"expected {out.dtype}{list(out.shape)}"
        )
    if result is not out:
        out[...] = result
    return out


def _fresh(xp: Any, result: Any, inputs: Sequence[Any]) -> Any:
    for given in inputs:
        if type(given) is type(result) and xp.may_share_memory(result, given):
            return result.copy()
    return result


_Slots: TypeAlias = dict[Var, int]


@final
@dataclass(frozen=True, slots=True)
class SequenceKernel:
    """Several operators, one after the other."""

    name: str
    ops: tuple[str, ...]
    steps: tuple[_Step, ...]
    results: tuple[int, ...]
    """The slots of the results."""

    can_fail: bool
    library: bool = True

    def native(self, inputs: Sequence[Any]) -> NativeCall | None:
        """Return nothing: a library is called from Python."""
        return None

    def __call__(
        self, xp: Any, inputs: Sequence[Any], outputs: Sequence[Any | None]
    ) -> Sequence[Any]:
        slots: list[Any] = list(inputs)
        for step in self.steps:
            slots.append(step(xp, slots))
        return tuple(
            _deliver(self.name, xp, slots[r], out, inputs)
            for r, out in zip(self.results, outputs, strict=True)
        )


@final
@dataclass(frozen=True, slots=True)
class _Apply:
    compute: Compute
    places: tuple[int | None, ...]
    attrs: Mapping[str, Any]

    def __call__(self, xp: Any, slots: Sequence[Any]) -> Any:
        operands = [None if p is None else slots[p] for p in self.places]
        return self.compute(xp, *operands, **self.attrs)


@final
@dataclass(frozen=True, slots=True)
class _Give:
    """A constant, in the namespace's own array; or in NumPy's, where it is read on the host."""

    array: Any
    host: bool

    def __call__(self, xp: Any, slots: Sequence[Any]) -> Any:
        return self.array if self.host else xp.asarray(self.array)


@final
@dataclass(frozen=True, slots=True)
class _Dims:
    dims: tuple[int, ...]

    def __call__(self, xp: Any, slots: Sequence[Any]) -> Any:
        return self.dims


@final
@dataclass(frozen=True, slots=True)
class _Item:
    place: int
    index: int | None
    """``None``: the whole."""

    def __call__(self, xp: Any, slots: Sequence[Any]) -> Any:
        value = slots[self.place]
        return value if self.index is None else value[self.index]


@final
@dataclass(frozen=True, slots=True)
class _Gather:
    places: tuple[int, ...]

    def __call__(self, xp: Any, slots: Sequence[Any]) -> Any:
        return tuple(slots[p] for p in self.places)


_Step: TypeAlias = _Apply | _Give | _Dims | _Item | _Gather


@final
@dataclass(frozen=True)
class NumpyTraits:
    """Nothing is compiled from loop rules, so nothing is fused."""

    def fuses(self, op: OpDef) -> bool:
        return False

    def max_fused(self) -> int:
        return 1

    def takes(self, function: Function) -> bool:
        return False

    def packs(self, function: Function) -> tuple[int, ...]:
        return ()

    def alignment(self) -> int:
        return 64

    def in_place(self, function: Function) -> frozenset[tuple[int, int]]:
        return frozenset()


@final
@dataclass(frozen=True)
class NumpyTarget:
    """Runs operators' own `compute`."""

    name: str = "numpy"
    traits: NumpyTraits = NumpyTraits()
    ops: Mapping[str, OpDef] = field(default_factory=lambda: OPS)

    def compile(self, function: Function, device_kind: str) -> Kernel:
        kernel = self._compile(function)
        panels = function.attrs.get("panels")
        return unpacking(kernel, function, panels) if isinstance(panels, tuple) else kernel

    def _compile(self, function: Function) -> LibraryKernel | SequenceKernel:
        bindings = tuple(function.body.bindings())
        slots = {p: i for i, p in enumerate(function.params)}
        if len(bindings) == 1 and isinstance(bindings[0].value, Call):
            return self._single(function, bindings[0], bindings[0].value, slots)
        return self._sequence(function, bindings, slots)

    def _single(
        self, function: Function, binding: Binding, call: Call, slots: _Slots
    ) -> LibraryKernel:
        several = isinstance(binding.var.type, TupleType)
        compute = self.ops[call.op].compute
        places = _places(call.args, slots)
        return LibraryKernel(
            function.name,
            (call.op,),
            compute,
            places,
            dict(call.attrs),
            several,
            self.can_fail(function),
            "out" in signature(compute).parameters,
        )

    def _sequence(
        self, function: Function, bindings: Sequence[Binding], slots: _Slots
    ) -> SequenceKernel:
        steps: list[_Step] = []
        tuples: dict[Var, tuple[Var, ...]] = {}
        hosts = self._hosts(bindings)
        for binding in bindings:
            steps.append(self._step(binding, slots, hosts))
            if isinstance(binding.value, MakeTuple):
                tuples[binding.var] = binding.value.items
            slots[binding.var] = len(slots)
        result = function.body.result
        results = [slots[r] for r in tuples.get(result, (result,))]
        if isinstance(result.type, TupleType) and result not in tuples:
            first = len(slots)
            steps.extend(_Item(slots[result], i) for i in range(len(result.type.items)))
            results = list(range(first, first + len(result.type.items)))
        calls = [b.value.op for b in bindings if isinstance(b.value, Call)]
        return SequenceKernel(
            function.name,
            tuple(calls),
            tuple(steps),
            tuple(results),
            self.can_fail(function),
        )

    def can_fail(self, function: Function) -> bool:
        """Whether an operator of ``function`` may report an error that depends on data."""
        return any(
            isinstance(b.value, Call) and self.ops[b.value.op].can_fail(b.var.type)
            for b in function.body.bindings()
        )

    def _hosts(self, bindings: Sequence[Binding]) -> frozenset[Var]:
        """Return the variables whose data is read on the host."""
        return frozenset(
            a
            for b in bindings
            if isinstance(b.value, Call)
            for i, a in enumerate(b.value.args)
            if isinstance(a, Var) and self.ops[b.value.op].is_host_operand(i)
        )

    def _step(self, binding: Binding, slots: _Slots, hosts: frozenset[Var]) -> _Step:
        match binding.value:
            case Call(op=op, args=args, attrs=attrs):
                return _Apply(self.ops[op].compute, _places(args, slots), dict(attrs))
            case Constant(dtype=dtype, shape=shape, data=data):
                array = np.frombuffer(data, to_numpy(dtype)).reshape(shape)
                return _Give(array, binding.var in hosts)
            case ShapeLiteral(dims=dims):
                return _Dims(tuple(d for d in dims if isinstance(d, int)))
            case Project(tuple=source, index=index):
                return _Item(slots[source], index)
            case Alias(var=source):
                return _Item(slots[source], None)
            case MakeTuple(items=items):
                return _Gather(tuple(slots[i] for i in items))
            case other:
                raise AssertionError(f"{type(other).__name__} in primitive @{binding.var.name}")


def _places(args: Sequence[Operand], slots: _Slots) -> tuple[int | None, ...]:
    return tuple(slots[a] if isinstance(a, Var) else None for a in args)


NUMPY: Final = NumpyTarget()
