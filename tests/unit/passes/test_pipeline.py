"""Pipelines: their text, what they require, and what they hold passes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.diagnostics import CompileError
from reference_vm.ir import structural
from reference_vm.ir.builder import FunctionBuilder, ModuleBuilder
from reference_vm.ir.nodes import Constant, Module, Var
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline, pipeline_text
from reference_vm.passes.bind_vdevices import BindVdevices
from reference_vm.passes.catalog import PASSES, default_pipeline
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.fold_constants import FoldConstants
from reference_vm.passes.infer_types import InferTypes
from reference_vm.passes.place import Place
from reference_vm.text import parse
from reference_vm.types import DeviceMap, TensorType
from reference_vm.types.dtype import F32

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


def _with_weights(count: int, elements: int) -> Module:
    """Return a program that adds so many large constants, one after the other."""
    f = FunctionBuilder("main")
    type_ = TensorType(F32, (elements,))
    last = x = f.param("x", type_)
    for number in range(count):
        data = np.full(elements, number + 1, np.float32).tobytes()
        weight = f.body.binding(Constant(F32, (elements,), data), "weight")
        last = f.body.call("add", last, weight)
    m = ModuleBuilder()
    m.add(f.finish(f.body.call("multiply", last, x), type_))
    return m.finish()


class Unread(bytes):
    """Bytes that no digest may go through."""

    def __repr__(self) -> str:
        raise AssertionError("the data of a constant was written out")

    def __hash__(self) -> int:
        raise AssertionError("the data of a constant was hashed")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("the data of a constant was compared")


def test_a_checked_compilation_digests_no_long_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counted(data: bytes, digest_size: int) -> Any:
        sizes.append(len(data))
        return blake2b(data, digest_size=digest_size)

    monkeypatch.setattr(structural, "blake2b", lambda data=b"", **kw: counted(data, **kw))
    monkeypatch.setattr(structural.Fingerprints, "of", _only_unread(structural.Fingerprints.of))

    rv.compile(_with_weights(5, 1024), check=True)

    assert max(sizes, default=0) < 4096


def _only_unread(of: Callable[..., int]) -> Callable[..., int]:
    """Return a fingerprint that is given programs whose long constants cannot be read."""
    kept: dict[int, tuple[bytes, Unread]] = {}

    def guarded(self: structural.Fingerprints, module: Module) -> int:
        changed: list[tuple[Constant, bytes]] = []
        for function in module.functions:
            for binding in function.body.bindings():
                constant = binding.value
                if isinstance(constant, Constant) and len(constant.data) >= 4096:
                    data = constant.data
                    unread = kept.setdefault(id(data), (data, Unread(data)))[1]
                    changed.append((constant, data))
                    object.__setattr__(constant, "data", unread)
        try:
            return of(self, module)
        finally:
            for constant, data in changed:
                object.__setattr__(constant, "data", data)

    return guarded


def test_a_fingerprint_tells_a_program_from_its_changed_self() -> None:
    fingerprints, long = structural.Fingerprints(), Constant(F32, (1024,), Unread(4096))
    before = fingerprints.of(long)

    assert fingerprints.of(replace(long)) == before
    assert fingerprints.of(replace(long, data=Unread(b"\1" * 4096))) != before
    assert fingerprints.of(replace(long, shape=(2, 512))) != before


def test_long_constants_have_digests_by_their_data() -> None:
    long = Constant(F32, (1024,), bytes(4096))

    assert structural.digest(long) == structural.digest(replace(long, data=bytes(bytearray(4096))))
    assert structural.digest(long) != structural.digest(replace(long, data=b"\1" * 4096))
    assert structural.digest(long) != structural.digest(replace(long, shape=(2, 512)))


def test_a_pass_that_changes_a_long_constant_of_its_input_is_found() -> None:
    @dataclass(frozen=True)
    class Meddling:
        name: ClassVar[str] = "meddling"
        requires: ClassVar[frozenset[Property]] = frozenset()
        establishes: ClassVar[frozenset[Property]] = frozenset()

        def run(self, module: Module, ctx: PassContext) -> Module:
            for binding in module.by_name["main"].body.bindings():
                if isinstance(binding.value, Constant):
                    object.__setattr__(binding.value, "data", bytes(4096))
            return module

    with pytest.raises(pipeline.BrokenPass, match="meddling changed its input"):
        pipeline.run(_with_weights(1, 1024), [Meddling()], CONTEXT, check=True)
