"""Put weights into panels, where kernels that multiply matrices are all that reads them.

Before::

    %w = const f32[384, 1152] hex "…"
    %y = @matmul(%x, %w)

After::

    %w = const f32[384, 1152] packed hex "…"
    %y = @matmul.packed(%x, %w)

    fn @matmul.packed(%p0: f32[n, 384], %p1: f32[384, 1152]) … attrs { panels = [1], … }

The matrix is put into panels once, when the program is loaded, and only they are kept. What else
reads it wants it in order: then it stays so, and its kernels pack it for each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Constant,
    Function,
    GlobalRef,
    Invoke,
    Module,
    Var,
    Weight,
    blocks,
    operands,
    with_blocks,
)
from reference_vm.ir.rewrite import walk
from reference_vm.passes.context import PassContext, Property
from reference_vm.types import TensorType


@final
@dataclass(frozen=True)
class PackWeights:
    """``pack-weights``: keep constant factors of matrix products in panels."""

    name: ClassVar[str] = "pack-weights"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.PRIMITIVE})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with the packed variants of its primitive functions at the end."""
        primitives = {f.name: f for f in module.functions if f.is_primitive}
        wanted = {name: _packs(f, ctx) for name, f in primitives.items()}
        packer = _Packer(wanted, FreshNames({f.name for f in module.functions}))
        functions = [f if f.name in primitives else packer.function(f) for f in module.functions]
        made = [packer.variant(primitives[name]) for name in packer.variants]
        read = {ref for f in functions for ref in _invoked(f)}
        kept = [f for f in functions if f.name not in packer.variants or f.name in read]
        return module.with_functions([*kept, *made])


def _packs(function: Function, ctx: PassContext) -> tuple[int, ...]:
    """Return which parameters the target wants in panels, if it is known which target that is."""
    for param in function.params:
        home = param.type.vdevice if isinstance(param.type, TensorType) else None
        if home is not None and home.device is not None:
            traits = ctx.targets.get(home.device.kind)
            return () if traits is None else traits.packs(function)
    return ()


def _invoked(function: Function) -> set[str]:
    return {
        b.value.callee.function
        for b in walk(function.body)
        if isinstance(b.value, Invoke) and isinstance(b.value.callee, GlobalRef)
    }


@final
@dataclass
class _Packer:
    """Rewrites the functions of one module."""

    wanted: Mapping[str, tuple[int, ...]]
    names: FreshNames
    variants: dict[str, str] = field(default_factory=dict)
    """The name of the packed variant of each primitive function that has one."""

    def function(self, function: Function) -> Function:
        packed = self._packable(function)
        if not packed:
            return function
        return replace(function, body=self._block(function.body, packed))

    def variant(self, primitive: Function) -> Function:
        """Return a primitive function whose factor comes in panels."""
        attrs = primitive.attrs.with_(panels=self.wanted[primitive.name])
        return replace(primitive, name=self.variants[primitive.name], attrs=attrs)

    def _packable(self, function: Function) -> frozenset[Var]:
        """Return the constants that nothing reads but kernels that want them in panels."""
        matrices: set[Var] = set()
        reads: Counter[Var] = Counter([function.body.result])
        welcome: Counter[Var] = Counter()
        for binding in walk(function.body):
            value = binding.value
            if isinstance(value, Constant | Weight) and len(value.shape) == 2:
                matrices.add(binding.var)
            reads.update(operands(value))
            reads.update(inner.result for inner in blocks(value))
            welcome.update(self._welcome(binding))
        return frozenset(v for v in matrices if 0 < reads[v] == welcome[v])

    def _welcome(self, binding: Binding) -> list[Var]:
        """Return what a binding reads and wants in panels."""
        value = binding.value
        if not isinstance(value, Invoke) or not isinstance(value.callee, GlobalRef):
            return []
        given = [value.args[i] for i in self.wanted.get(value.callee.function, ())]
        return [v for v in given if isinstance(v, Var)]

    def _block(self, block: Block, packed: frozenset[Var]) -> Block:
        return Block(tuple(self._binding(b, packed) for b in block.bindings()), block.result)

    def _binding(self, binding: Binding, packed: frozenset[Var]) -> Binding:
        value = binding.value
        if binding.var in packed and isinstance(value, Constant | Weight):
            return replace(binding, value=replace(value, packed=True))
        if isinstance(value, Invoke) and packed.intersection(self._welcome(binding)):
            assert isinstance(value.callee, GlobalRef)
            return replace(binding, value=replace(value, callee=self._variant(value.callee)))
        inner = blocks(value)
        if not inner:
            return binding
        return replace(binding, value=with_blocks(value, [self._block(b, packed) for b in inner]))

    def _variant(self, callee: GlobalRef) -> GlobalRef:
        if callee.function not in self.variants:
            self.variants[callee.function] = self.names.fresh(f"{callee.function}.packed")
        return GlobalRef(self.variants[callee.function])
