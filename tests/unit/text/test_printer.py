"""The one text of a module."""

from __future__ import annotations

import pytest

from reference_vm.ir.nodes import Binding, Block, Call, Function, Module, Var
from reference_vm.text import parse, print_function, print_module, print_type
from reference_vm.types import DTYPES, TensorType, TupleType, VirtualDevice
from tests.property.samples import EVERYTHING
from tests.unit.text.programs import printed

CANONICAL = """\
module {
  vdevice @host, @tex = "cuda:0" scope "texture"
  type List[T] {
    Nil,
    Cons(T, List[T]),
  }
  fn @main(%x: f32[4*n + 1] donate, %l: List[f32[n]]) -> f32[n] @host \
bounds n in 1..512, m in 2.. attrs { entry = true } {
    %s: f32[n] = add(%x, none, @f, axis = -1, keepdims = true) @host
    dataflow {
      %d = exp(%s)
      output %d
    }
    %i = if %s {
      yield %d
    } else {
      %c = fn(%z: f32[n]) -> f32[n] {
        return %z
      }
      yield %x
    } @host
    %m = match %l {
      Cons(%h, (_, Nil)) => {
        yield %h
      }
      (%u,) => {
        yield %u
      }
    }
    %"a/b:0" = (%s,)
    return %"a/b:0"
  }
}
"""

T4 = TensorType(DTYPES["f32"], (4,))


def test_the_canonical_text_prints_as_itself() -> None:
    assert print_module(parse(CANONICAL)) == CANONICAL


def test_the_sample_prints_to_a_fixed_point() -> None:
    once = print_module(parse(EVERYTHING))

    assert print_module(parse(once)) == once


def test_short_printing_leaves_out_the_types_of_bindings() -> None:
    short = print_module(parse(CANONICAL), short=True)

    assert short == CANONICAL.replace("%s: f32[n] = ", "%s = ")


def test_one_function_prints_alone() -> None:
    module = parse(CANONICAL)

    lines = print_function(module.functions[0]).splitlines()

    assert lines[0].startswith("fn @main(")
    assert lines[-1] == "}"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("op(%x, b = 1, a = 2)", "op(%x, a = 2, b = 1)"),
        ("op( %x,%x,a=[ 1,2 ] )", "op(%x, %x, a = [1, 2])"),
        ("op(%x, a = 1 + n*4)", "op(%x, a = 4*n + 1)"),
        ("op(%x, a = 100000000000000000000000.0)", "op(%x, a = 1e+23)"),
        ('op(%x, a = "\\u00e9\\u0001")', 'op(%x, a = "\\u00e9\\u0001")'),
        ('op(%x, a = "\\u00e9")', 'op(%x, a = "é")'),
        ('%"x"', "%x"),
    ],
)
def test_an_expression_prints_canonically(written: str, canonical: str) -> None:
    assert printed(written) == canonical


def test_variables_of_one_name_get_numbers_past_names_that_are_taken() -> None:
    x, other, taken, third = (Var(name, T4) for name in ("x", "x", "x.1", "x"))
    calls = (
        Binding(other, Call("exp", (x,))),
        Binding(taken, Call("exp", (other,))),
        Binding(third, Call("exp", (taken,))),
    )
    function = Function("main", (x,), T4, Block(calls, third))

    lines = print_module(Module(functions=(function,)), short=True).splitlines()

    assert [line.strip() for line in lines[2:6]] == [
        "%x.2 = exp(%x)",
        "%x.1 = exp(%x.2)",
        "%x.3 = exp(%x.1)",
        "return %x.3",
    ]


def test_a_type_prints_with_its_role_quoted_if_need_be() -> None:
    type_ = TupleType((T4.on(VirtualDevice("odd role")),))

    assert print_type(type_) == '(f32[4] @"odd role",)'
