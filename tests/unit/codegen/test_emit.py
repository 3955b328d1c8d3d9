"""Code generation from each form of a placed module."""

from __future__ import annotations

import numpy as np
import pytest

from reference_vm.bytecode.disassembler import disassemble
from reference_vm.bytecode.instructions import Kill, Launch, ReadHost
from reference_vm.codegen.emit import Code, emit
from reference_vm.compiler import assemble
from reference_vm.diagnostics import CompileError
from reference_vm.ir.nodes import Binding, Block, Function, GlobalRef, Invoke, Module, Var
from reference_vm.ops.catalog import OPS
from reference_vm.session import Session
from reference_vm.types import Attrs, TupleType
from tests.unit.codegen.placed_modules import (
    ACCEL,
    HOST,
    call,
    function,
    module,
    shared_input,
    tensor,
    var,
)

X = np.arange(4, dtype=np.float32)


def test_a_device_local_module_gets_memory_of_its_own_and_gives_it_back() -> None:
    assert disassemble(emit(shared_input(), OPS).executable) == (
        "fn @main(r0: f32[4] @host, r1: f32[4] @host, r2: f32[4] @accel) -> f32[4] @host\n"
        "     0  r3: f32[4] = launch add(r0, r1) on cpu:0\n"
        "     1  r4: f32[4] = copy r1 to sim:0 (read)\n"
        "     2  r5: f32[4] = launch add(r4, r2) on sim:0\n"
        "     3  kill r4\n"
        "     4  r6: f32[4] = copy r5 to cpu:0 (read)\n"
        "     5  kill r5\n"
        "     6  r7: f32[4] = launch subtract(r3, r6) on cpu:0\n"
        "     7  kill r3, r6\n"
        "     8  return r7\n"
    )


def test_equal_calls_on_one_kind_of_device_share_a_kernel() -> None:
    slots = emit(shared_input(), OPS).executable.kernels
    assert [(s.name, s.kind) for s in slots] == [
        ("add", "cpu"),
        ("add", "sim"),
        ("subtract", "cpu"),
    ]


def test_equal_constants_on_one_device_are_stored_once() -> None:
    from reference_vm.ir.nodes import Constant
    from reference_vm.types.dtype import F32

    data = X.tobytes()
    one, two = var("one", tensor("f32", 4)), var("two", tensor("f32", 4))
    far, s = var("far", tensor("f32", 4, on=ACCEL)), var("s", tensor("f32", 4))
    made = [(v, Constant(F32, (4,), data)) for v in (one, two, far)]
    code = emit(module(function([], [*made, (s, call("add", one, two))], s)), OPS)
    assert [c.device for c in code.executable.constants] == [0, 1]


def _planned() -> Module:
    """``exp`` then ``negative`` of a symbolic size, both in one storage after the other."""
    from reference_vm.types.dim import symbol

    n = symbol("n")
    x, t, u = (var(name, tensor("f32", n, on=ACCEL)) for name in "xtu")
    storage = Var("st", tensor("u8", 4 * n, on=ACCEL))
    other = Var("st1", tensor("u8", 4 * n, on=ACCEL))
    kill = Var("kill", TupleType(()))

    def primitive(name: str, op: str) -> Function:
        p, v = Var("p", tensor("f32", n, on=None)), Var("v", tensor("f32", n, on=None))
        body = Block((Binding(v, call(op, p)),), v)
        return Function(name, (p,), tensor("f32", n, on=None), body, attrs=Attrs(primitive=True))

    def invoke(name: str, source: Var, into: Var, define: str) -> object:
        return call(
            "vm.invoke", GlobalRef(name), source, into, outputs=1, offsets=(0,), defines=(define,)
        )

    main = function(
        [x],
        [
            (storage, call("vm.alloc_storage", size=4 * n, alignment=64)),
            (t, invoke("k1", x, storage, "main/%t")),  # type: ignore[list-item]
            (other, call("vm.alloc_storage", size=4 * n, alignment=64)),
            (u, invoke("k2", t, other, "main/%u")),  # type: ignore[list-item]
            (kill, call("vm.kill", storage)),
        ],
        u,
    )
    return module(main, primitive("k1", "exp"), primitive("k2", "negative"))


def test_a_planned_module_allocates_and_kills_as_the_plan_says() -> None:
    assert disassemble(emit(_planned(), OPS).executable) == (
        "fn @main(r0: f32[n] @accel) -> f32[n] @accel\n"
        "     0  r1 = alloc 4*n bytes on sim:0\n"
        "     1  r2: f32[n] in r1+0 = launch k1(r0) on sim:0\n"
        "     2  r3 = alloc 4*n bytes on sim:0\n"
        "     3  r4: f32[n] in r3+0 = launch k2(r2) on sim:0\n"
        "     4  kill r1\n"
        "     5  return r4\n"
    )


def test_a_planned_module_runs_at_every_size() -> None:
    session = Session(assemble(_planned(), executor="numpy"), checked=True)
    for size in (3, 0, 100):
        x = np.linspace(0, 1, size, dtype=np.float32)
        np.testing.assert_allclose(session.run("main", x), -np.exp(x))
        assert session.memory()["sim:0"].current == 0
    kernels = [r for r in session.trace if r.kind == "library"]
    assert [(r.op, r.ops, r.defines) for r in kernels] == [
        ("exp", ("exp",), ("main/%t",)),
        ("negative", ("negative",), ("main/%u",)),
    ]


def test_a_primitive_function_is_a_kernel_without_a_plan_too() -> None:
    p, q, v, w = (Var(name, tensor("f32", 4, on=None)) for name in "pqvw")
    body = Block((Binding(v, call("add", p, q)), Binding(w, call("exp", v))), w)
    fused = Function("fused_add_exp", (p, q), w.tensor, body, attrs=Attrs(primitive=True))
    x, y = var("x", tensor("f32", 4)), var("y", tensor("f32", 4))
    invoke = Invoke(GlobalRef("fused_add_exp"), (x, x), Attrs(defines=("main/%s", "main/%y")))
    session = Session(assemble(module(function([x], [(y, invoke)], y), fused), executor="numpy"))
    np.testing.assert_allclose(session.run("main", X), np.exp(X + X))
    (record,) = [r for r in session.trace if r.kind == "library"]
    assert record.ops == ("add", "exp")
    assert record.defines == ("main/%s", "main/%y")


def test_an_operand_that_decides_a_shape_is_read_on_the_host_once() -> None:
    x = var("x", tensor("f32", 4, on=ACCEL))
    ends = var("e", tensor("i64", 1))
    t, u = (var(name, tensor("f32", 2, on=ACCEL)) for name in "tu")
    zero = var("z", tensor("i64", 1))
    sliced = call("slice", x, zero, ends, None, None)
    code = emit(module(function([x, zero, ends], [(t, sliced), (u, sliced)], u)), OPS)
    instructions = code.executable.functions[0].instructions
    reads = [i for i in instructions if isinstance(i, ReadHost)]
    assert [r.source for r in reads] == [1, 2]
    launches = [i for i in instructions if isinstance(i, Launch)]
    assert [i.args for i in launches] == [(0, reads[0].target, reads[1].target)] * 2


def test_views_keep_what_they_view_alive() -> None:
    x, t, u = (var(name, tensor("f32", 4)) for name in "xtu")
    r = var("r", tensor("f32", 2, 2))
    e = var("e", tensor("f32", 2, 2))
    shape = var("s", tensor("i64", 2))
    code = emit(
        module(
            function(
                [x, shape],
                [
                    (t, call("exp", x)),
                    (r, call("reshape", t, shape, allow_zero=False)),
                    (u, call("exp", x)),
                    (e, call("exp", r)),
                ],
                e,
            )
        ),
        OPS,
    )
    kills = [i.registers for i in code.executable.functions[0].instructions if isinstance(i, Kill)]
    registers = {name: i for i, name in enumerate(("x", "shape", "t", "r", "u", "e"))}
    assert kills == [(registers["u"],), (registers["t"],)]


@pytest.mark.parametrize(
    ("op", "needed"), [("to_vdevice", "legalize"), ("hint_on_device", "legalize")]
)
def test_what_a_pass_should_have_removed_names_the_pass(op: str, needed: str) -> None:
    x, y = var("x", tensor("f32", 4)), var("y", tensor("f32", 4))
    with pytest.raises(CompileError, match=f"{op} is left over .* the pass {needed} has not run"):
        emit(module(function([x], [(y, call(op, x))], y)), OPS)


def test_a_value_without_device_names_the_pass() -> None:
    x, y = var("x", tensor("f32", 4)), var("y", tensor("f32", 4, on=None))
    with pytest.raises(CompileError, match="plan-devices has not run"):
        emit(module(function([x], [(y, call("exp", x))], y)), OPS)


def test_the_host_is_always_the_first_device() -> None:
    x, y = var("x", tensor("f32", 4, on=ACCEL)), var("y", tensor("f32", 4, on=ACCEL))
    code: Code = emit(module(function([x], [(y, call("exp", x))], y)), OPS)
    assert list(map(str, code.executable.devices)) == ["cpu:0", "sim:0"]
    assert HOST.device == code.executable.devices[0]
