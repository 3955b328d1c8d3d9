"""What the corpus says: its programs round-trip as written, and again with all types inferred."""

from __future__ import annotations

import pytest

from hettest.corpus import cases, corpus_root
from reference_vm.diagnostics import CompileError
from reference_vm.ir import structural, verify
from reference_vm.ir.nodes import Module
from reference_vm.ops.catalog import OPS
from reference_vm.passes.catalog import default_pipeline
from reference_vm.passes.context import PassContext
from reference_vm.passes.fuse import Fuse
from reference_vm.passes.infer_types import InferTypes
from reference_vm.passes.lambda_lift import LambdaLift
from reference_vm.passes.plan_memory import PlanMemory
from reference_vm.text import parse, print_module
from reference_vm.types import HOST, DeviceMap, DeviceName


def well_formed() -> list[Module]:
    found = []
    for program in sorted({case.program for case in cases(corpus_root())}):
        try:
            module = parse(program)
        except CompileError:
            continue
        if not verify.check(module):
            found.append(module)
    return found


def inferred(module: Module) -> Module | None:
    try:
        return InferTypes().run(module, PassContext(ops=OPS))
    except CompileError:
        return None


@pytest.fixture(scope="module")
def typed() -> list[Module]:
    return [typed for module in well_formed() if (typed := inferred(module)) is not None]


def test_every_program_of_the_corpus_prints_to_an_equal_one() -> None:
    modules = well_formed()

    assert len(modules) > 100
    for module in modules:
        assert structural.equal(parse(print_module(module)), module)


def test_every_inferred_program_prints_to_an_equal_one(typed: list[Module]) -> None:
    assert len(typed) > 100
    for module in typed:
        text = print_module(module)
        assert structural.equal(parse(text), module), text
        assert verify.check(module) == []


def test_short_printing_loses_nothing_that_infer_types_does_not_find(typed: list[Module]) -> None:
    for module in typed:
        text = print_module(module, short=True)
        again = inferred(parse(text))
        assert again is not None
        assert structural.equal(again, module), text


def test_the_output_of_every_pass_prints_parses_and_is_well_formed(typed: list[Module]) -> None:
    for module in typed[::2]:
        devices = {v.role: DeviceName("sim", i) for i, v in enumerate(module.vdevices)}
        ctx = PassContext(OPS, DeviceMap.of(devices | {"host": HOST}))
        lowered = module
        for pass_ in (*default_pipeline(), Fuse(), LambdaLift(), PlanMemory()):
            lowered = pass_.run(lowered, ctx)
            text = print_module(lowered)
            again = parse(text)
            assert structural.equal(again, lowered), f"{pass_.name}:\n{text}"
            assert verify.check(again) == [], f"{pass_.name}:\n{text}"
