"""Planning runs again on what was lowered, and nothing that is shared crosses a device or scope."""

from __future__ import annotations

import random

import pytest

from reference_vm.ir import structural
from reference_vm.ir.nodes import Call, GlobalRef, Invoke, Module
from reference_vm.ir.rewrite import walk
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline
from reference_vm.passes.catalog import default_pipeline
from reference_vm.passes.context import Pass, PassContext
from reference_vm.passes.eliminate_common_subexpressions import EliminateCommonSubexpressions
from reference_vm.passes.fuse import Fuse
from reference_vm.passes.insert_copies import InsertCopies
from reference_vm.passes.plan_devices import PlanDevices
from reference_vm.passes.plan_memory import PlanMemory
from reference_vm.targets.numba.target import NUMBA
from reference_vm.text import parse, print_module
from reference_vm.types import DeviceMap
from tests.property.placed_programs import MAP, program

CTX = PassContext(OPS, DeviceMap.parse(MAP), targets=dict.fromkeys(("cpu", "sim"), NUMBA.traits))
LOOP = """module {
  vdevice @host, @a, @b
  fn @trips(%i: i64[], %acc: f32[4], %v: f32[4]) -> f32[4] {
    %zero = const i64[] 0
    %more = greater(%i, %zero)
    %r = if %more {
      %one = const i64[] 1
      %j = subtract(%i, %one)
      %n = add(%acc, %v) @host
      %w = exp(%v) @a
      %o = add(%n, %w) @host
      %q = @trips(%j, %o, %v)
      yield %q
    } else {
      yield %acc
    }
    return %r
  }
  fn @main(%k: i64[], %x: f32[4]) -> f32[4] @b attrs { entry = true } {
    %v = exp(%x) @a
    %s = @trips(%k, %x, %v)
    return %s
  }
}
"""
TEXTS = (LOOP, *(program(random.Random(s), branches=True).text() for s in range(12)))


def lowered(text: str, *last: Pass) -> Module:
    return pipeline.run(parse(text), (*default_pipeline(), *last), CTX, check=True)


@pytest.mark.parametrize("last", [(), (Fuse(),), (Fuse(), PlanMemory())], ids=len)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_planning_what_is_lowered_changes_nothing(text: str, last: tuple[Pass, ...]) -> None:
    module = lowered(text, *last)

    again = pipeline.run(module, (PlanDevices(), InsertCopies()), CTX, check=True)

    assert structural.equal(again, module), print_module(again)


SCOPES = """module {
  vdevice @host, @a, @b, @tex scope "texture"
  fn @main(%x: f32[4]) -> (f32[4] @a, f32[4] @a, f32[4] @b, f32[4] @tex) {
    %p = exp(%x) @a
    %q = exp(%x) @a
    %r = exp(%x) @b
    %s = exp(%x) @tex
    %t = (%p, %q, %r, %s)
    return %t
  }
}
"""
WITH_SCOPE = PassContext(
    OPS,
    DeviceMap.parse("host=cpu:0,a=sim:0,b=sim:1,tex=sim:0"),
    targets=dict.fromkeys(("cpu", "sim"), NUMBA.traits),
)


def test_equal_work_is_merged_on_one_device_and_scope_only() -> None:
    module = pipeline.run(parse(SCOPES), default_pipeline(), WITH_SCOPE, check=True)

    computed = [b for b in walk(module.by_name["main"].body) if isinstance(b.value, Call)]
    places = [b.var.vdevice.role for b in computed if b.value.op == "exp"]  # type: ignore[union-attr]

    assert sorted(places) == ["a", "b", "tex"]


def test_merging_after_planning_keeps_devices_apart() -> None:
    module = pipeline.run(parse(SCOPES), default_pipeline(), WITH_SCOPE)

    assert structural.equal(EliminateCommonSubexpressions().run(module, WITH_SCOPE), module)


def test_each_device_and_scope_has_kernels_of_its_own() -> None:
    passes = (*default_pipeline(), Fuse())
    module = pipeline.run(parse(SCOPES), passes, WITH_SCOPE, check=True)

    ran: dict[str, str] = {}
    for binding in walk(module.by_name["main"].body):
        value = binding.value
        if isinstance(value, Invoke) and isinstance(value.callee, GlobalRef):
            ran[value.callee.function] = binding.var.vdevice.role

    assert sorted(ran.values()) == ["a", "b", "tex"]
    for name, role in ran.items():
        kernel = module.by_name[name]
        assert {b.var.vdevice.role for b in walk(kernel.body)} == {role}
