"""Inference over symbols, inference over numbers and the run agree on dtypes and shapes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from reference_vm.ops.catalog import FAMILIES, OPS
from reference_vm.ops.definition import Content
from reference_vm.ops.typing import TypedCall, infer_call
from reference_vm.types import UNKNOWN, Attrs, Dim, ShapeType, TensorType, TupleType, Type, Unknown
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dim import evaluate, substitute
from reference_vm.types.dtype import I64
from reference_vm.types.types import substitute_dims
from tests.unit.ops.calls import SAMPLES, Given, Host, Sample

OURS = (
    *("arithmetic", "elementary functions", "activations", "comparison, logic and bits"),
    *("choosing and converting", "reductions", "reshaping", "slicing and joining", "movement"),
    *("padding", "indexing", "scattering", "creation and shapes", "linear algebra", "devices"),
)


def _type(given: Given) -> Type | None:
    if isinstance(given, Host):
        return TensorType(I64, (len(given.values),) if given.rank else ())
    return given


def _content(given: Given) -> Content | None:
    return given.values if isinstance(given, Host) else None


def _infer(sample: Sample, operands: tuple[Given, ...]) -> TypedCall:
    op = OPS[sample.op]
    types, contents = [_type(o) for o in operands], [_content(o) for o in operands]
    return infer_call(op, types, Attrs(sample.attrs), contents)


def _with_numbers(given: Given, values: Mapping[str, Dim]) -> Given:
    if isinstance(given, Host):
        return Host(tuple(substitute(d, values) for d in given.values), given.rank)
    if given is None:
        return None
    found = substitute_dims(given, values)
    assert isinstance(found, TensorType | ShapeType)
    return found


def _value(given: Given) -> Any:
    """Return zeros of a tensor type, or what is known of a host operand."""
    if isinstance(given, Host):
        array = np.asarray(given.values, dtype=np.int64)
        return array if given.rank else array.reshape(())
    if isinstance(given, ShapeType):
        return given.dims
    if given is None:
        return None
    return np.zeros(tuple(int(d) for d in given.shape or ()), to_numpy(given.dtype))  # type: ignore[arg-type]


def _run(sample: Sample, operands: tuple[Given, ...], attrs: Attrs) -> Any:
    values = [_value(o) for o in operands]
    if sample.op in ("trunc_divide", "remainder", "floor_divide", "fmod"):
        values[1] = np.ones_like(values[1])
    return OPS[sample.op].compute(np, *values, **attrs)


def _assert_fits(found: Any, type_: Type, values: Mapping[str, int]) -> None:
    """Fail unless a value of the run is one of ``type_`` when symbols have these ``values``."""
    if isinstance(type_, TupleType):
        assert isinstance(found, tuple)
        for item, item_type in zip(found, type_.items, strict=True):
            _assert_fits(item, item_type, values)
        return
    if isinstance(type_, ShapeType):
        assert isinstance(found, tuple)
        _assert_dims(found, type_.dims, values)
        return
    assert isinstance(type_, TensorType)
    assert isinstance(found, np.ndarray), f"{type(found)} is no array"
    assert found.dtype == to_numpy(type_.dtype)
    _assert_dims(found.shape, type_.shape, values)


def _assert_dims(
    found: tuple[int, ...], dims: tuple[Dim, ...] | None, values: Mapping[str, int]
) -> None:
    if dims is None:
        return
    assert len(found) == len(dims), f"{found} for {dims}"
    for size, dim in zip(found, dims, strict=True):
        if not isinstance(dim, Unknown):
            assert size == evaluate(dim, values), f"{found} for {dims} with {values}"


def test_every_operator_of_these_families_has_a_sample() -> None:
    sampled = {sample.op for sample in SAMPLES}
    assert {op.name for family in OURS for op in FAMILIES[family]} <= sampled


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_symbols_numbers_and_the_run_agree(sample: Sample) -> None:
    symbolic = _infer(sample, sample.operands)
    chosen = random.Random(str(sample))
    for _ in range(12):
        values = {name: chosen.choice(range(sample.least, 8)) for name in ("n", "m")}
        if sample.op not in ("matmul", "einsum") and _broadcasts(sample):
            values["m"] = values["n"]
        numbers: dict[str, Dim] = dict(values)
        operands = tuple(_with_numbers(o, numbers) for o in sample.operands)
        static = _infer(sample, operands)
        found = _run(sample, operands, static.attrs)
        _assert_fits(found, static.type, values)
        _assert_fits(found, symbolic.type, values)
        _assert_content(found, symbolic.content, values)


def _broadcasts(sample: Sample) -> bool:
    return sample.op == "expand" and len(sample.operands[0].shape) == 3  # type: ignore[union-attr, arg-type]


def _assert_content(found: Any, content: Content | None, values: Mapping[str, int]) -> None:
    if content is not None:
        _assert_dims(tuple(np.asarray(found).ravel().tolist()), content, values)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_an_unknown_rank_infers(sample: Sample) -> None:
    operands = [
        TensorType(o.dtype, None) if isinstance(o, TensorType) else _type(o)
        for o in sample.operands
    ]
    contents = [_content(o) for o in sample.operands]
    attrs = Attrs(sample.attrs)
    found = infer_call(OPS[sample.op], operands, attrs, contents)
    known = _infer(sample, sample.operands)
    assert type(found.type) is type(known.type)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_unknown_dims_and_contents_infer_and_never_contradict(sample: Sample) -> None:
    operands: list[Type | None] = []
    for given in sample.operands:
        found = _type(given)
        if (
            isinstance(found, TensorType)
            and found.shape is not None
            and not isinstance(given, Host)
        ):
            found = TensorType(found.dtype, tuple(_hidden(d) for d in found.shape))
        operands.append(found)
    op = OPS[sample.op]
    loose = infer_call(op, operands, Attrs(sample.attrs), [None] * len(operands))
    known = _infer(sample, sample.operands)
    if isinstance(loose.type, TensorType) and isinstance(known.type, TensorType):
        assert loose.type.dtype == known.type.dtype
        if loose.type.shape is not None and known.type.shape is not None:
            assert len(loose.type.shape) == len(known.type.shape)


def _hidden(dim: Dim) -> Dim:
    return dim if isinstance(dim, int) else UNKNOWN
