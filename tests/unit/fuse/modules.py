"""Typed and placed modules from text, ready to fuse."""

from __future__ import annotations

from dataclasses import dataclass

from reference_vm.ir.nodes import Function, Invoke, Module
from reference_vm.ir.rewrite import walk
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.passes.bind_vdevices import BindVdevices
from reference_vm.passes.context import PassContext
from reference_vm.passes.fuse import Fuse
from reference_vm.passes.infer_types import InferTypes
from reference_vm.targets.in_place import elementwise_pairs
from reference_vm.text import parse
from reference_vm.types import DeviceMap


@dataclass(frozen=True)
class FusesAll:
    """A target that compiles every loop rule."""

    limit: int = 64

    def fuses(self, op: OpDef) -> bool:
        return op.loops is not None

    def max_fused(self) -> int:
        return self.limit

    def takes(self, function: Function) -> bool:
        return True

    def packs(self, function: Function) -> tuple[int, ...]:
        return ()

    def in_place(self, function: Function) -> frozenset[tuple[int, int]]:
        return elementwise_pairs(function, lambda name: OPS[name] if OPS[name].loops else None)

    def alignment(self) -> int:
        return 64


def context(limit: int = 64) -> PassContext:
    device_map = DeviceMap.parse("host=cpu:0,accel=sim:0")
    targets = {"cpu": FusesAll(limit), "sim": FusesAll(limit)}
    return PassContext(OPS, device_map, targets=targets)


def placed(signature: str, body: str, *more: str) -> Module:
    """Return a typed module with the function ``@main`` and maybe more."""
    functions = "\n".join([f"fn @main({signature} {{\n{body}\n}}", *more])
    text = f"module {{\nvdevice @host, @accel\n{functions}\n}}"
    ctx = context()
    return InferTypes().run(BindVdevices().run(parse(text), ctx), ctx)


def fused(module: Module, limit: int = 64) -> Module:
    return Fuse().run(module, context(limit))


def kernels(module: Module, name: str = "main") -> list[str]:
    """Return the names of the primitives that a function invokes, in order."""
    found = module.by_name[name].body
    return [
        b.value.callee.function
        for b in walk(found)
        if isinstance(b.value, Invoke) and not hasattr(b.value.callee, "type")
    ]


def primitive(module: Module, name: str) -> Function:
    return module.by_name[name]


MOVES = Trait.MOVES_DATA
