"""Placed modules, built from IR nodes by hand, for tests of what comes after the passes."""

from __future__ import annotations

from collections.abc import Sequence

from reference_vm.ir.nodes import Binding, Block, Call, Expr, Function, Module, Operand, Var
from reference_vm.types import Attrs, DeviceName, Dim, TensorType, TupleType, Type, VirtualDevice
from reference_vm.types.dtype import DTYPES

HOST = VirtualDevice("host", DeviceName.parse("cpu:0"))
ACCEL = VirtualDevice("accel", DeviceName.parse("sim:0"))


def tensor(dtype: str, *dims: Dim, on: VirtualDevice | None = HOST) -> TensorType:
    return TensorType(DTYPES[dtype], tuple(dims), on)


def var(name: str, type_: Type) -> Var:
    return Var(name, type_, None, f"main/%{name}")


def call(op: str, *args: Operand, **attrs: object) -> Call:
    return Call(op, args, Attrs(attrs))  # type: ignore[arg-type]


def copy(source: Var, cause: str = "read", reader: str | None = None) -> Call:
    return call("device_copy", source, cause=cause, reader=reader, line=None)


def function(
    params: Sequence[Var], bindings: Sequence[tuple[Var, Expr]], result: Var, name: str = "main"
) -> Function:
    assert result.type is not None
    body = Block(tuple(Binding(v, e) for v, e in bindings), result)
    return Function(name, tuple(params), result.type, body)


def module(*functions: Function) -> Module:
    return Module((HOST, ACCEL), (), functions)


def shared_input() -> Module:
    """``(a + b) - (b + c)``, the second sum on the accelerator."""
    a, b = var("a", tensor("f32", 4)), var("b", tensor("f32", 4))
    c = var("c", tensor("f32", 4, on=ACCEL))
    moved = Var("b.accel", tensor("f32", 4, on=ACCEL))
    s, t = var("s", tensor("f32", 4)), var("t", tensor("f32", 4, on=ACCEL))
    back, d = Var("t.host", tensor("f32", 4)), var("d", tensor("f32", 4))
    bindings: list[tuple[Var, Expr]] = [
        (s, call("add", a, b)),
        (moved, copy(b, reader="main/%t")),
        (t, call("add", moved, c)),
        (back, copy(t, reader="main/%d")),
        (d, call("subtract", s, back)),
    ]
    return module(function([a, b, c], bindings, d))


__all__ = ["ACCEL", "HOST", "TupleType", "call", "copy", "function", "module", "shared_input"]
