"""Pipelines: their text, what they require, and what they hold passes to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ir.nodes import Module, Var
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline, pipeline_text
from reference_vm.passes.bind_vdevices import BindVdevices
from reference_vm.passes.catalog import PASSES, default_pipeline
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.fold_constants import FoldConstants
from reference_vm.passes.infer_types import InferTypes
from reference_vm.passes.place import Place
from reference_vm.text import parse
from reference_vm.types import DeviceMap

CONTEXT = PassContext(OPS, DeviceMap.parse("host=cpu:0,accel=sim:0"))
PROGRAM = parse("module { fn @main(%x: f32[4]) -> f32[4] { %y = exp(%x) return %y } }")


def test_a_text_names_passes_and_their_options() -> None:
    text = 'infer-types, fold-constants{limit=16}, place{patterns="a,b*=accel"}'

    passes = pipeline_text.parse(text, PASSES)

    assert passes == (InferTypes(), FoldConstants(16), Place("a,b*=accel"))
    assert pipeline_text.text_of(passes) == text


def test_the_default_pipeline_survives_its_text() -> None:
    passes = default_pipeline(place="x*=accel", split="halves")

    assert pipeline_text.parse(pipeline_text.text_of(passes), PASSES) == passes


def test_an_empty_text_names_no_pass() -> None:
    assert pipeline_text.parse("  ", PASSES) == ()


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("infer-type", "unknown-pass", 1),
        ("infer-types,,legalize", "pipeline-syntax", 13),
        ("infer-types legalize", "pipeline-syntax", 13),
        ("fold-constants{limit}", "pipeline-syntax", 16),
        ("fold-constants{limit=many}", "pass-option", 1),
        ("fold-constants{size=1}", "pass-option", 1),
        ("infer-types, place", "pass-option", 14),
    ],
)
def test_a_wrong_text_is_one_located_error(text: str, code: str, column: int) -> None:
    with pytest.raises(CompileError) as error:
        pipeline_text.parse(text, PASSES)

    (found,) = error.value.diagnostics
    assert found.code == code
    assert found.span is not None
    assert found.span.column == column


def test_a_pass_is_refused_without_what_it_requires() -> None:
    passes = pipeline_text.parse("infer-types, plan-devices", PASSES)

    with pytest.raises(CompileError, match="expected a bound one") as error:
        pipeline.run(PROGRAM, passes, CONTEXT)

    assert "run bind-vdevices first" in str(error.value)


def test_a_module_that_has_the_property_needs_no_pass_for_it() -> None:
    bound = pipeline.run(PROGRAM, [BindVdevices(), InferTypes()], CONTEXT)

    placed = pipeline.run(bound, pipeline_text.parse("plan-devices", PASSES), CONTEXT)

    assert placed.functions[0].params[0].vdevice.role == "host"


@dataclass(frozen=True)
class _Forgetful:
    """Says that it types a module, and takes the types away."""

    name: ClassVar[str] = "forgetful"
    requires: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})

    def run(self, module: Module, ctx: PassContext) -> Module:
        (function,) = module.functions
        y = Var("y")
        binding = replace(next(function.body.bindings()), var=y)
        body = replace(function.body, statements=(binding,), result=y)
        return module.with_functions([replace(function, body=body)])


def test_a_pass_that_breaks_its_word_is_named_with_those_before_it() -> None:
    with pytest.raises(pipeline.BrokenPass) as error:
        pipeline.run(PROGRAM, [BindVdevices(), _Forgetful()], CONTEXT, check=True)

    assert str(error.value) == (
        "after forgetful the module is not typed: %y has no type; before it ran: bind-vdevices"
    )
