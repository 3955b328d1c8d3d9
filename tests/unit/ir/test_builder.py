"""What the builders make is what the text says."""

from __future__ import annotations

from reference_vm.ir import structural, verify
from reference_vm.ir.builder import FunctionBuilder, ModuleBuilder
from reference_vm.ir.nodes import Bound, ConstructorPattern, Module, Wildcard
from reference_vm.text import parse, print_module
from reference_vm.types import DTYPES, AdtType, Attrs, TensorType
from reference_vm.types.dim import symbol

F32, BOOL = DTYPES["f32"], DTYPES["bool"]
VECTOR = TensorType(F32, (symbol("n"),))


def module_of(function: FunctionBuilder, *finish: object) -> Module:
    m = ModuleBuilder()
    m.add(function.finish(*finish))  # type: ignore[arg-type]
    return m.finish()


def test_a_straight_line_is_built_with_fresh_names() -> None:
    f = FunctionBuilder("main", Attrs(entry=True))
    x = f.param("x", VECTOR, donate=True)
    y = f.body.call("exp", x)
    z = f.body.call("exp", y, name="x", axis=1)
    built = module_of(f, z, VECTOR, [Bound("n", 1, 9)])

    assert print_module(built) == (
        "module {\n"
        "  fn @main(%x: f32[n] donate) -> f32[n] bounds n in 1..9 attrs { entry = true } {\n"
        "    %exp = exp(%x)\n"
        "    %x.1 = exp(%exp, axis = 1)\n"
        "    return %x.1\n"
        "  }\n"
        "}\n"
    )


def test_every_kind_of_binding_can_be_built() -> None:
    m = ModuleBuilder()
    accel = m.vdevice("accel")
    m.adt("List", {"Nil": (), "Cons": (TensorType(F32, ()), AdtType("List"))})
    f = FunctionBuilder("main")
    x, items = f.param("x", VECTOR), f.param("items", AdtType("List"))
    b = f.body
    one = b.constant(F32, (), [1], on=accel)
    b.weight(F32, (2,), "w.safetensors", "bias")
    b.shape((symbol("n"), 4))
    pair = b.tuple_(x, one)
    first = b.project(pair, 0)
    b.alias(first, "again")
    function = b.function_value("main")
    b.invoke(function, x, items)
    b.invoke("main", x, items, on=accel)
    b.construct("Nil", type_=AdtType("List"))
    flag = b.constant(BOOL, (), [True], name="flag")
    b.if_(flag, lambda then: then.call("exp", x), lambda orelse: x)
    cons = ConstructorPattern("Cons", (Wildcard(), Wildcard()))
    b.match(items, (cons, lambda arm: x), (Wildcard(), lambda arm: arm.call("exp", x)))
    b.closure([b.variable("z", VECTOR)], VECTOR, lambda inner: inner.call("add", x, first))
    m.add(f.finish(x, VECTOR))
    built = m.finish()

    assert verify.check(built) == []
    assert structural.equal(parse(print_module(built)), built)
