"""Is a memory plan right? Recomputed from the planned program, by running it on paper.

Each path through a function's branches is followed with real values of its symbols. Memory is a
number with a device, a size and the name of the tensor last written to it; a tensor is a memory and
the name that it was written under. So whatever the planner thought of aliases and lives, these are
found out:

* a tensor is read after something else was written over it, or after its memory was given back;
* a storage is too small, or on another device or in another scope than the tensor;
* an argument or a constant is written to, or one result shares a storage with another;
* memory is given back twice by name, or never, though no variable that holds it may, on another
  path, hold the caller's memory or what the function returns.

Nothing here is shared with the planner. What becomes of values whose holds are counted
(`analysis.counted`) is not decided by the plan, and so not judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product as combinations
from typing import Any, Final, TypeAlias, Union, final

from reference_vm.analysis.aliases import aliases
from reference_vm.analysis.counted import called, counted
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Constant,
    Function,
    If,
    Invoke,
    MakeTuple,
    Module,
    Project,
    Var,
    Weight,
)
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.types import ShapeType, TensorType, TupleType, Type
from reference_vm.types.dim import evaluate, symbols

_BRANCHES: Final = 6
"""Up to so many branches all combinations are followed; beyond, each branch alone."""

_SIZES: Final = (1, 2, 7)
"""What symbols without bounds are tried at."""


@final
@dataclass(eq=False)
class _Memory:
    """A piece of memory on paper."""

    size: int | None
    place: object
    """Device and scope."""

    written: str | None = None
    alive: bool = True
    ours: bool = True
    """Whether the function made it, and must give it back."""


@final
@dataclass(frozen=True, slots=True)
class _Tensor:
    memory: _Memory
    written: str | None


_Value: TypeAlias = Union[_Tensor, _Memory, tuple["_Value", ...], None]


def check_memory(module: Module, ops: Mapping[str, OpDef]) -> list[str]:
    """Return what is wrong with the memory plans of ``module``'s functions; empty if nothing."""
    found: dict[str, None] = {}
    owning = called(module)
    for function in module.functions:
        if function.attrs.get("primitive") is True:
            continue
        shared = aliases(function, module, ops)
        variables = counted(function, module, shared, function.name in owning)
        runs = [
            _Run(module, ops, function, arms, sizes, variables)
            for arms in _choices(function)
            for sizes in _assignments(function)
        ]
        texts = [text for run in runs for text in run.faults()]
        excused = _excused(runs)
        kept = {name: None for run in runs for name in run.kept if name not in excused}
        texts += [f"the memory of %{name} is never given back" for name in kept]
        found.update(dict.fromkeys(f"@{function.name}: {text}" for text in texts))
    return list(found)


def _excused(runs: Sequence[_Run]) -> set[str | None]:
    """Return what may be returned, or held by a variable that holds the caller's memory elsewhere.

    By way of variables this spreads: what is held together is excused together.
    """
    held: dict[Var, set[str | None]] = {}
    excused = {name for run in runs for name in run.returned}
    for run in runs:
        for var, value in run.values.items():
            for tensor in _tensors(value):
                held.setdefault(var, set()).add(tensor.written)
                if not tensor.memory.ours:
                    excused.add(tensor.written)
    together = [names for names in held.values() if len(names) > 1]
    while more := [names for names in together if names & excused and not names <= excused]:
        excused.update(*more)
    return excused


def _choices(function: Function) -> Iterator[Mapping[int, bool]]:
    """Yield which arm each branch takes, by ``id`` of the branch."""
    branches = [id(value) for value in _branches(function.body)]
    if len(branches) <= _BRANCHES:
        for arms in combinations((True, False), repeat=len(branches)):
            yield dict(zip(branches, arms, strict=True))
        return
    for usual in (True, False):
        yield dict.fromkeys(branches, usual)
        for other in branches:
            yield {b: usual != (b == other) for b in branches}


def _branches(block: Block) -> Iterator[If]:
    for binding in block.bindings():
        if isinstance(binding.value, If):
            yield binding.value
            yield from _branches(binding.value.then)
            yield from _branches(binding.value.orelse)


def _assignments(function: Function) -> Iterator[Mapping[str, int]]:
    """Yield values of the function's symbols: the ends of their bounds, or a few small ones."""
    bounds = {b.symbol: b for b in function.bounds}
    names = sorted(_symbols(function))
    tried: list[dict[str, int]] = []
    for i, size in enumerate(_SIZES):
        sizes = {}
        for place, name in enumerate(names):
            known = bounds.get(name)
            free = _SIZES[(i + place) % len(_SIZES)]
            if known is not None and known.upper is not None:
                free = (known.lower, known.upper, min(known.lower + size, known.upper))[i]
            sizes[name] = max(free, known.lower if known else 0)
        tried.append(sizes)
    yield from tried


def _symbols(function: Function) -> set[str]:
    found: set[str] = set()
    stack = [function.body]
    types: list[Type | None] = [p.type for p in function.params]
    while stack:
        for binding in stack.pop().bindings():
            types.append(binding.var.type)
            if isinstance(binding.value, If):
                stack += (binding.value.then, binding.value.orelse)
    while types:
        match types.pop():
            case TensorType(shape=dims) | ShapeType(dims=dims):
                found.update(s for d in dims or () for s in symbols(d))
            case TupleType(items=items):
                types.extend(items)
            case _:
                pass
    return found


@final
@dataclass
class _Run:
    """One path through one function."""

    module: Module
    ops: Mapping[str, OpDef]
    function: Function
    arms: Mapping[int, bool]
    sizes: Mapping[str, int]
    counted: frozenset[Var]
    values: dict[Var, _Value] = field(default_factory=dict)
    made: list[_Memory] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    returned: list[str | None] = field(default_factory=list)
    """What was last written to memory that is handed out."""

    kept: list[str | None] = field(default_factory=list)
    """The same of memory that is neither handed out nor given back."""

    def faults(self) -> list[str]:
        for param in self.function.params:
            self.values[param] = self._given(param.type, param.name)
        result = self._block(self.function.body)
        returned = {id(t.memory) for t in _tensors(result)}
        for tensor in _tensors(result):
            self._read_tensor(tensor, "the result")
        held = [t for v in self.counted for t in _tensors(self.values.get(v))]
        elsewhere = {id(t.memory) for t in held}
        for memory in self.made:
            if memory.alive and memory.ours and id(memory) not in elsewhere:
                (self.returned if id(memory) in returned else self.kept).append(memory.written)
        return self.found

    def _block(self, block: Block) -> _Value:
        for binding in block.bindings():
            self.values[binding.var] = self._binding(binding)
        return self.values.get(block.result)

    def _binding(self, binding: Binding) -> _Value:
        value = binding.value
        match value:
            case If():
                arm = value.then if self.arms[id(value)] else value.orelse
                return self._block(arm)
            case Alias(var=source):
                return self.values[source]
            case Project(tuple=source, index=index):
                whole = self.values[source]
                assert isinstance(whole, tuple)
                return whole[index]
            case MakeTuple(items=items):
                return tuple(self.values[i] for i in items)
            case Constant() | Weight():
                return self._given(binding.var.type, binding.var.name)
            case Call():
                return self._call(binding, value)
            case Invoke():
                self._read_all(value.args, binding.var.name)
                return self._fresh(binding.var.type, binding.var.name)
            case _:
                return None

    def _call(self, binding: Binding, call: Call) -> _Value:
        name = binding.var.name
        match call.op:
            case "vm.alloc_storage":
                return self._allocate(binding, call)
            case "vm.kill":
                self._kill(call)
                return ()
            case "vm.invoke" | "vm.copy":
                return self._work(binding, call)
        self._read_all(call.args, name)
        if call.op in self.ops and Trait.VIEW in self.ops[call.op].traits:
            viewed = call.args[0]
            assert isinstance(viewed, Var)
            return self.values[viewed]
        return self._fresh(binding.var.type, name)

    def _allocate(self, binding: Binding, call: Call) -> _Memory:
        size: Any = call.attrs["size"]
        memory = _Memory(evaluate(size, self.sizes), _place(binding.var.tensor))
        self.made.append(memory)
        return memory

    def _kill(self, call: Call) -> None:
        for arg in call.args:
            assert isinstance(arg, Var)
            value = self.values[arg]
            if isinstance(value, _Memory):
                if not value.alive:
                    self.found.append(f"storage %{arg.name} is given back twice")
                value.alive = False
            for tensor in _tensors(value):
                if tensor.memory.ours:
                    tensor.memory.alive = False

    def _work(self, binding: Binding, call: Call) -> _Value:
        """A kernel or a copy: reads its operands, then writes each result to its storage."""
        outputs: Any = call.attrs["outputs"] if call.op == "vm.invoke" else 1
        inputs, storages = call.args[: len(call.args) - outputs], call.args[-outputs:]
        name = binding.var.name
        self._read_all(inputs, name)
        types = _tensor_types(binding.var.type)
        results = [
            self._write(type_, s, f"{name}.{i}" if len(types) > 1 else name)
            for i, (type_, s) in enumerate(zip(types, storages, strict=True))
        ]
        used = [id(t.memory) for t in results]
        if len(set(used)) < len(used):
            self.found.append(f"results of %{name} share a storage")
        if any(t.memory.written != t.written for t in _tensors(self._operands(inputs))):
            self.found.append(f"%{name} is written over what it is computed from")
        return results[0] if isinstance(binding.var.type, TensorType) else tuple(results)

    def _operands(self, args: tuple[object, ...]) -> _Value:
        return tuple(self.values.get(a) for a in args if isinstance(a, Var))

    def _write(self, type_: TensorType, storage: object, name: str) -> _Tensor:
        if not isinstance(storage, Var):
            fresh = self._fresh(type_, name)
            assert isinstance(fresh, _Tensor)
            return fresh
        memory = self.values[storage]
        assert isinstance(memory, _Memory), f"%{storage.name} is no storage"
        if not memory.alive:
            self.found.append(f"%{name} is written to storage %{storage.name} after its end")
        if memory.place != _place(type_):
            self.found.append(f"%{name} lies on another device than storage %{storage.name}")
        needed = type_.dtype.itemsize
        for dim in type_.shape or ():
            needed *= evaluate(dim, self.sizes)
        if memory.size is not None and needed > memory.size:
            self.found.append(
                f"%{name} needs {needed} bytes, storage %{storage.name} has {memory.size}"
            )
        memory.written = name
        return _Tensor(memory, name)

    def _given(self, type_: Type | None, name: str) -> _Value:
        """Memory of the caller or of the program."""
        value = self._fresh(type_, name)
        for tensor in _tensors(value):
            tensor.memory.ours = False
        return value

    def _fresh(self, type_: Type | None, name: str) -> _Value:
        if isinstance(type_, TupleType):
            return tuple(self._fresh(t, f"{name}.{i}") for i, t in enumerate(type_.items))
        if not isinstance(type_, TensorType):
            return None
        memory = _Memory(None, _place(type_), name)
        self.made.append(memory)
        return _Tensor(memory, name)

    def _read_all(self, args: tuple[object, ...], reader: str) -> None:
        for tensor in _tensors(self._operands(args)):
            self._read_tensor(tensor, f"%{reader}")

    def _read_tensor(self, tensor: _Tensor, reader: str) -> None:
        if not tensor.memory.alive:
            self.found.append(f"{reader} reads %{tensor.written} after its memory is given back")
        elif tensor.memory.written != tensor.written:
            self.found.append(
                f"{reader} reads %{tensor.written}, which %{tensor.memory.written} has overwritten"
            )


def _tensors(value: _Value) -> list[_Tensor]:
    if isinstance(value, _Tensor):
        return [value]
    return [t for item in value for t in _tensors(item)] if isinstance(value, tuple) else []


def _tensor_types(type_: Type | None) -> list[TensorType]:
    if isinstance(type_, TensorType):
        return [type_]
    return (
        [t for i in type_.items for t in _tensor_types(i)] if isinstance(type_, TupleType) else []
    )


def _place(type_: TensorType) -> object:
    vdevice = type_.vdevice
    return (vdevice.device, vdevice.scope) if vdevice else None


__all__ = ["check_memory"]
