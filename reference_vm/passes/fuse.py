"""Turn all work into calls of primitive functions, one kernel each, with operators fused.

Before::

    fn @main(%x: f32[n], %y: f32[n]) -> f32[n] {
      %s: f32[n] = add(%x, %y)
      %t: f32[n] = exp(%s)
      return %t
    }

After::

    fn @main(%x: f32[n], %y: f32[n]) -> f32[n] {
      %t: f32[n] = @fused_add_exp(%x, %y, defines = ["main/%s", "main/%t"])
      return %t
    }

    fn @fused_add_exp(%p0: f32[d0], %p1: f32[d0]) -> f32[d0] attrs { primitive = true } {
      %v0: f32[d0] = add(%p0, %p1)
      %v1: f32[d0] = exp(%v0)
      return %v1
    }

Every operator that computes ends in a primitive function, alone if nothing fits. Views, copies and
host facts about shapes stay calls. What is fused is on one device and in one block, and none of it
may fail; what `fusion_groups` puts together becomes one function, whose results are the values that
something else reads. Small constants become part of the kernels that read them, and so do those
that an operator reads on the host, to decide a shape.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, final

from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Call,
    Constant,
    Function,
    Invoke,
    Module,
    Project,
    Var,
    blocks,
    operands,
    with_blocks,
)
from reference_vm.ir.rewrite import free_vars, walk
from reference_vm.loops.kernel import Correlation, Product
from reference_vm.ops.contents import LIMIT
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.passes.context import PassContext, Property, TargetTraits
from reference_vm.passes.fusion_groups import GroupFinder
from reference_vm.passes.fusion_rules import Step, StepReader
from reference_vm.passes.primitives import PrimitiveTable, normalized
from reference_vm.types import Attrs, TensorType, TupleType, Type
from reference_vm.types.dtype import COMPUTED

_KEPT: Final = frozenset({Trait.VIEW, Trait.METADATA, Trait.HOST, Trait.MOVES_DATA})
"""What stays a call: it does no work that a kernel could do."""


@final
@dataclass(frozen=True)
class Fuse:
    """``fuse``: put all work into primitive functions."""

    name: ClassVar[str] = "fuse"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.DEVICE_LOCAL})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.PRIMITIVE})

    enabled: bool = True
    """Whether operators share kernels; if not, each has its own."""

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with its primitive functions after the others."""
        table = PrimitiveTable(FreshNames({f.name for f in module.functions}))
        functions = [
            f if f.is_primitive else self._function(f, ctx, table) for f in module.functions
        ]
        return module.with_functions([*functions, *table.functions])

    def _function(self, function: Function, ctx: PassContext, table: PrimitiveTable) -> Function:
        body = function.body
        fuser = _Fuser(ctx, table, self.enabled, _uses(body), _scalars(body), _small(body))
        body = _without_unread_constants(fuser.block(function.body))
        return replace(function, body=body)


def _uses(body: Block) -> Counter[Var]:
    """Return how often each variable is read, as a result of a block too."""
    found: Counter[Var] = Counter()
    for binding in walk(body):
        found.update(operands(binding.value))
        found.update(inner.result for inner in blocks(binding.value))
    found[body.result] += 1
    return found


def _scalars(body: Block) -> dict[Var, Binding]:
    """Return the constants of one element, which become part of the kernels that read them."""
    return {
        b.var: b
        for b in walk(body)
        if isinstance(b.value, Constant) and all(dim == 1 for dim in b.value.shape)
    }


def _small(body: Block) -> dict[Var, Binding]:
    """Return the constants that a shape could be worked out from, by what they bind."""
    return {
        b.var: b
        for b in walk(body)
        if isinstance(b.value, Constant) and math.prod(b.value.shape) <= LIMIT
    }


def _without_unread_constants(body: Block) -> Block:
    uses = _uses(body)

    def kept(block: Block) -> Block:
        bindings = [
            replace(b, value=with_blocks(b.value, [kept(inner) for inner in blocks(b.value)]))
            if blocks(b.value)
            else b
            for b in block.bindings()
            if uses[b.var] or not isinstance(b.value, Constant)
        ]
        return Block(tuple(bindings), block.result)

    return kept(body)


@final
@dataclass
class _Fuser:
    """Rewrites the blocks of one function."""

    ctx: PassContext
    table: PrimitiveTable
    enabled: bool
    uses: Mapping[Var, int]
    scalars: Mapping[Var, Binding]
    small: Mapping[Var, Binding]
    """Constants whose elements kernels may be made with."""

    reader: StepReader = field(default_factory=StepReader)
    fusible: set[Var] = field(default_factory=set)
    """What steps bind."""

    def block(self, block: Block) -> Block:
        bindings = [self._nested(b) for b in block.bindings()]
        statements: list[Binding] = []
        for unit in _ordered(bindings, self._units(bindings)):
            statements.extend(self._emit([bindings[i] for i in unit]))
        return Block(tuple(statements), block.result)

    def _nested(self, binding: Binding) -> Binding:
        inner = blocks(binding.value)
        if not inner:
            return binding
        return replace(binding, value=with_blocks(binding.value, [self.block(b) for b in inner]))

    def _units(self, bindings: Sequence[Binding]) -> list[list[int]]:
        """Return what runs as one step each: positions of bindings, in rising order."""
        finder = GroupFinder(self.uses)
        alone: list[list[int]] = []
        for position, binding in enumerate(bindings):
            step = self._step(binding)
            if step is None:
                finder.skip(binding, _read(binding))
                alone.append([position])
            else:
                finder.add(position, binding, step)
                self.fusible.add(binding.var)
        return [*alone, *finder.groups()]

    def _step(self, binding: Binding) -> Step | None:
        """Return what fusion must know of a binding; ``None`` if it runs alone."""
        call, type_ = binding.value, binding.var.type
        op = self._work(binding)
        if not self.enabled or op is None or not isinstance(call, Call):
            return None
        traits = self._target(type_)
        if traits is None or not traits.fuses(op) or op.can_fail(type_):
            return None
        if op.has(Trait.DATA_DEPENDENT) or _reads_host_data(call, op):
            return None
        return self.reader.step(binding, call, op, traits.max_fused())

    def _work(self, binding: Binding) -> OpDef | None:
        """Return the operator of a binding that is work for a kernel."""
        call = binding.value
        op = self.ctx.ops.get(call.op) if isinstance(call, Call) else None
        return None if op is None or op.traits & _KEPT else op

    def _target(self, type_: Type | None) -> TargetTraits | None:
        """Return what is known of the target for results of this type, if it may fuse them."""
        if not isinstance(type_, TensorType) or type_.dtype not in COMPUTED:
            return None
        device = type_.vdevice.device if type_.vdevice else None
        return self.ctx.targets.get(device.kind) if device else None

    def _emit(self, work: Sequence[Binding]) -> Iterator[Binding]:
        """Yield the bindings that stand for one step."""
        first = work[0]
        if self._work(first) is None:
            yield first
            return
        inside = {b.var for b in work}
        read = dict.fromkeys(v for b in work for v in operands(b.value) if v not in inside)
        fused = first.var in self.fusible and not self._is_convolution(work)
        inside_it = dict(self.scalars) if fused else self._told(first)
        inlined = [inside_it[v] for v in read if v in inside_it]
        params = [v for v in read if v not in inside_it]
        results = self._results(work)
        whole_work = [*inlined, *work]
        if not self._is_taken(work, normalized(whole_work, params, results)):
            for binding in work:
                yield from self._emit([binding])
            return
        callee = self.table.intern(whole_work, params, results)
        sources = tuple(b.var.source for b in work if b.var.source is not None)
        invoke = Invoke(callee, tuple(params), Attrs(defines=sources), first.value.span)
        if len(results) == 1:
            yield Binding(results[0], invoke)
            return
        whole = Var(callee.function, TupleType(tuple(v.tensor for v in results)))
        yield Binding(whole, invoke)
        for index, result in enumerate(results):
            yield Binding(result, Project(whole, index))

    def _told(self, binding: Binding) -> dict[Var, Binding]:
        """Return the constants that an operator reads on the host only, with which it is made."""
        call, op = binding.value, self._work(binding)
        if op is None or not isinstance(call, Call):
            return {}
        args = [a for a in call.args if isinstance(a, Var)]
        hosts = [a for i, a in enumerate(call.args) if op.is_host_operand(i) and a in self.small]
        return {a: self.small[a] for a in hosts if isinstance(a, Var) and args.count(a) == 1}

    def _is_convolution(self, work: Sequence[Binding]) -> bool:
        """Whether it is a convolution, which reads all operands from memory, small ones too."""
        ops = map(self._work, work)
        return any(op is not None and isinstance(op.loops, Correlation) for op in ops)

    def _is_taken(self, work: Sequence[Binding], function: Function) -> bool:
        """Whether the target has one kernel for ``work``: of products and windows it may not."""
        ops = [op for b in work if (op := self._work(b)) is not None]
        if len(work) == 1 or not any(isinstance(op.loops, Product | Correlation) for op in ops):
            return True
        traits = self._target(work[0].var.type)
        return traits is not None and traits.takes(function)

    def _results(self, work: Sequence[Binding]) -> list[Var]:
        """Return the variables that something outside of ``work`` reads; at least one."""
        inner = Counter(v for b in work for v in operands(b.value))
        found = [b.var for b in work if self.uses[b.var] > inner[b.var]]
        return found or [work[-1].var]


def _reads_host_data(call: Call, op: OpDef) -> bool:
    return any(a is not None and op.is_host_operand(i) for i, a in enumerate(call.args))


def _read(binding: Binding) -> list[Var]:
    """Return the variables that a binding reads, in nested blocks too."""
    nested = [v for inner in blocks(binding.value) for v in free_vars(inner)]
    return [*operands(binding.value), *nested]


def _ordered(bindings: Sequence[Binding], units: Sequence[list[int]]) -> Iterator[list[int]]:
    """Yield units so that each comes after those it reads from, otherwise as in the program."""
    unit_of = {position: number for number, unit in enumerate(units) for position in unit}
    position_of = {b.var: i for i, b in enumerate(bindings)}
    readers: list[set[int]] = [set() for _ in units]
    waiting = [0] * len(units)
    for position, binding in enumerate(bindings):
        for var in _read(binding):
            maker = unit_of.get(position_of.get(var, -1))
            reader = unit_of[position]
            if maker is not None and maker != reader and reader not in readers[maker]:
                readers[maker].add(reader)
                waiting[reader] += 1
    ready = [(unit[-1], number) for number, unit in enumerate(units) if not waiting[number]]
    heapq.heapify(ready)
    done = 0
    while ready:
        _, number = heapq.heappop(ready)
        done += 1
        yield units[number]
        for reader in readers[number]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, (units[reader][-1], reader))
    assert done == len(units), "a fused group depends on itself"
