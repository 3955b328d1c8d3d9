"""Inference, with numbers and without, the shape function and the run agree, for every operator."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import OpCall, OpDef, Required
from reference_vm.types import TensorType, TupleType, Type
from tests.property.grid_cells import cells
from tests.property.grid_paths import Batch
from tests.property.shape_cells import disagreements, executed, inferred, shape_cells


@pytest.mark.parametrize("name", OPS)
def test_all_ways_of_telling_a_shape_agree(name: str) -> None:
    found = list(disagreements(OPS[name], random.Random(name)))

    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("name", OPS)
def test_the_variants_of_every_operator_are_taken_and_run(name: str) -> None:
    tried = list(shape_cells(OPS[name], random.Random(name)))

    assert any(not isinstance(inferred(c), str) for c in tried)
    assert any(not isinstance(executed(c)[0], str) for c in tried)


@pytest.mark.parametrize("name", OPS)
def test_what_was_foretold_is_what_the_accelerator_has(name: str) -> None:
    plain = [c for c in cells(OPS[name]) if c.dtype is None or c.dtype.name in ("f32", "bool")][:3]

    outcomes = Batch(plain).run("hru", device="sim:0")

    for entry, outcome in outcomes.items():
        told = inferred(plain[int(entry[1:])])
        if not isinstance(outcome, str) and not isinstance(told, str):
            shapes = [x.shape for x in outcome]
            assert [t or s for t, s in zip(told, shapes, strict=False)] == shapes[: len(told)]


# --- rules that are wrong are found -----------------------------------------------------------


def one_more(type_: Type) -> Type:
    """Return the type with one more element along the last axis, of the first tensor in it."""
    if isinstance(type_, TupleType):
        return TupleType((one_more(type_.items[0]), *type_.items[1:]))
    if not isinstance(type_, TensorType) or not type_.shape:
        return type_
    return replace(type_, shape=(*type_.shape[:-1], type_.shape[-1] + 1))


def transposed(type_: Type) -> Type:
    if not isinstance(type_, TensorType) or not type_.shape:
        return type_
    return replace(type_, shape=type_.shape[::-1])


def wrong(op: OpDef, change: Callable[[Type], Type]) -> OpDef:
    def infer(call: OpCall) -> Type:
        return change(op.infer(call))

    return replace(op, infer=infer)


FOUND_WRONG = ("add", "sum", "concat", "matmul", "conv", "slice", "top_k", "resize", "lstm", "pad")


@pytest.mark.parametrize("name", FOUND_WRONG)
def test_a_rule_that_says_one_too_many_is_found(name: str) -> None:
    assert any(disagreements(wrong(OPS[name], one_more), random.Random(name)))


@pytest.mark.parametrize("name", ["exp", "concat", "matmul", "tile", "permute_dims"])
def test_a_rule_that_turns_the_axes_around_is_found(name: str) -> None:
    assert any(disagreements(wrong(OPS[name], transposed), random.Random(name)))


@pytest.mark.parametrize("name", ["slice", "sum", "squeeze", "one_hot"])
def test_a_rule_that_forgets_an_attribute_is_found(name: str) -> None:
    op = OPS[name]
    axis = "axes" if "axes" in op.attrs else "axis"

    def infer(call: OpCall) -> Type:
        if axis not in call.attrs:  # a slice's axes are an operand
            types, contents = (*call.types[:3], None, *call.types[4:]), call.contents
            return op.infer(replace(call, types=types, contents=(*contents[:3], None)))
        default = op.attrs[axis].default
        assert not isinstance(default, Required)
        return op.infer(replace(call, attrs=call.attrs.with_(**{axis: default})))

    assert any(disagreements(replace(op, infer=infer), random.Random(name)))


@pytest.mark.parametrize("name", ["expand", "compress", "gather_nd", "arange"])
def test_a_symbol_taken_for_one_is_found(name: str) -> None:
    def narrowed(type_: Type) -> Type:
        if not isinstance(type_, TensorType) or not type_.shape:
            return type_
        return replace(type_, shape=tuple(d if isinstance(d, int) else 1 for d in type_.shape))

    assert any(disagreements(wrong(OPS[name], narrowed), random.Random(name)))


@pytest.mark.parametrize("name", ["resize", "arange"])
def test_sizes_that_host_operands_tell_are_held_to_the_run(name: str) -> None:
    op = OPS[name]
    sizes = op.sizes
    assert sizes is not None

    def more(*operands: Any) -> Type | None:
        found = sizes(*operands)
        return None if found is None else one_more(found)

    rng = random.Random(name)
    assert any(disagreements(replace(op, sizes=more), rng)) == (name == "resize")
