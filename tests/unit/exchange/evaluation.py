"""Evaluates a module by calling `OpDef.compute`, one binding at a time.

Small and independent of compiler and runtime, so that what the importer makes can be judged alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reference_vm.ir.nodes import (
    Alias,
    Block,
    Call,
    Constant,
    Expr,
    If,
    MakeTuple,
    Module,
    Project,
    ShapeLiteral,
    Var,
)
from reference_vm.ops.catalog import OPS
from reference_vm.types import Poly, ShapeType, TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dim import evaluate as evaluate_dim

Value = Any


def evaluate(module: Module, args: Sequence[Value], entry: str = "main") -> Value:
    """Return what function ``entry`` makes of ``args``: arrays, nested tuples of them."""
    function = module.by_name[entry]
    values: dict[Var, Value] = dict(zip(function.params, args, strict=True))
    return _block(function.body, values, _symbols(function.params, args))


def _symbols(params: Sequence[Var], args: Sequence[Value]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for param, arg in zip(params, args, strict=True):
        assert isinstance(param.type, TensorType)
        for dim, size in zip(param.type.shape or (), arg.shape, strict=False):
            if isinstance(dim, Poly) and str(dim) in dim.symbols:
                assert sizes.setdefault(str(dim), size) == size, f"{dim} is two sizes"
    return sizes


def _block(block: Block, outer: Mapping[Var, Value], sizes: Mapping[str, int]) -> Value:
    values = dict(outer)
    for binding in block.bindings():
        value = _expr(binding.value, values, sizes)
        _check(binding.var, value, sizes)
        values[binding.var] = value
    return values[block.result]


def _check(var: Var, value: Value, sizes: Mapping[str, int]) -> None:
    """Assert that a value is of the type that the importer inferred."""
    if isinstance(var.type, ShapeType):
        assert var.type.dims is None or len(var.type.dims) == len(value)
    if not isinstance(var.type, TensorType):
        return
    assert value.dtype == to_numpy(var.type.dtype), f"{var.name}: {value.dtype} for {var.type}"
    if var.type.shape is None:
        return
    assert len(var.type.shape) == value.ndim, f"{var.name}: {value.shape} for {var.type}"
    for dim, size in zip(var.type.shape, value.shape, strict=True):
        if isinstance(dim, int | Poly):
            assert evaluate_dim(dim, sizes) == size, f"{var.name}: {value.shape} for {var.type}"


def _expr(expr: Expr, values: dict[Var, Value], sizes: Mapping[str, int]) -> Value:
    match expr:
        case Call(op=op, args=args, attrs=attrs):
            operands = [values[a] if isinstance(a, Var) else None for a in args]
            return OPS[op].compute(np, *operands, **attrs)
        case Constant(dtype=dtype, shape=shape, data=data):
            return np.frombuffer(data, to_numpy(dtype)).reshape(shape)
        case ShapeLiteral(dims=dims):
            return tuple(evaluate_dim(d, sizes) for d in dims)
        case MakeTuple(items=items):
            return tuple(values[i] for i in items)
        case Project(tuple=source, index=index):
            return values[source][index]
        case Alias(var=source):
            return values[source]
        case If(condition=condition, then=then, orelse=orelse):
            return _block(then if values[condition] else orelse, values, sizes)
        case _:
            raise AssertionError(f"the importer makes no {type(expr).__name__}")
