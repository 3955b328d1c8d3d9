"""Programs read from text, and what is said of texts that are none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ir import nodes
from reference_vm.source import Source
from reference_vm.text import parse
from reference_vm.types import (
    DTYPES,
    UNKNOWN,
    AdtType,
    AttrValue,
    DeviceName,
    FunctionType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    VirtualDevice,
)
from reference_vm.types.dim import floordiv, symbol
from tests.unit.text.programs import body, codes, module, problems, value

F32, N = DTYPES["f32"], symbol("n")
T4 = TensorType(F32, (4,))


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("f32[]", TensorType(F32, ())),
        ("f32[...]", TensorType(F32, None)),
        ("f32[n*4+1, ?]", TensorType(F32, (4 * N + 1, UNKNOWN))),
        ("f32[floordiv(n, 2) - -n]", TensorType(F32, (floordiv(N, 2) + N,))),
        ("f32[4] @accel", TensorType(F32, (4,), VirtualDevice("accel"))),
        ("shape[n, 4]", ShapeType((N, 4))),
        ("shape[...]", ShapeType(None)),
        ("()", TupleType(())),
        ("(f32[4],)", TupleType((T4,))),
        ("(f32[4])", TupleType((T4,))),
        ("(f32[4], (f32[4],),)", TupleType((T4, TupleType((T4,))))),
        ("(f32[4]) -> f32[4]", FunctionType((T4,), T4)),
        ("() -> () -> f32[4]", FunctionType((), FunctionType((), T4))),
        ("List[f32[4], Tree]", AdtType("List", (T4, AdtType("Tree")))),
    ],
)
def test_types_are_values(text: str, type_: Type) -> None:
    parsed = parse(module(f"fn @f(%x: {text}) -> {text} {{ return %x }}"))

    assert parsed.functions[0].params[0].type == type_
    assert parsed.functions[0].result == type_


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-1", -1),
        ("n + 1", N + 1),
        ("2.0", 2.0),
        ("-1e3", -1000.0),
        ("-inf", float("-inf")),
        ('"a\\n"', "a\n"),
        ("true", True),
        ("f32", F32),
        ("none", None),
        ("[]", ()),
        ("[1, [2.5], [[none]]]", (1, (2.5,), ((None,),))),
    ],
)
def test_attributes_keep_their_kind(text: str, expected: AttrValue) -> None:
    call = value(f"op(%x, a = {text})")

    assert isinstance(call, nodes.Call)
    assert call.attrs["a"] == expected
    assert type(call.attrs["a"]) is type(expected)


def test_expressions_are_told_apart_by_one_token() -> None:
    kinds = {
        "add(%x, none, @f)": nodes.Call,
        "vm.kill(%x)": nodes.Call,
        "Nil()": nodes.Construct,
        "@main(%x)": nodes.Invoke,
        "%y(%x)": nodes.Invoke,
        "%y[0]": nodes.Project,
        "%y": nodes.Alias,
        "@main": nodes.FunctionValue,
        "()": nodes.MakeTuple,
        "shape [n]": nodes.ShapeLiteral,
        "const i8[] 1": nodes.Constant,
        "if %x { yield %x } else { yield %y }": nodes.If,
        "match %x { _ => { yield %x } }": nodes.Match,
        "fn() -> f32[...] { return %x }": nodes.Closure,
    }

    assert {text: type(value(text)) for text in kinds} == kinds


def test_a_role_may_be_declared_after_its_use_and_is_the_declared_one() -> None:
    parsed = parse(
        "module { fn @f(%x: f32[4] @gpu) -> f32[4] { return %x }"
        ' vdevice @gpu = "cuda:1" scope "t" }'
    )

    declared = VirtualDevice("gpu", DeviceName("cuda", 1), "t")
    assert parsed.vdevices == (declared,)
    assert parsed.functions[0].params[0].vdevice == declared


def test_quoted_names_are_unquoted() -> None:
    parsed = parse('module { fn @"a/b"(%"in:0": f32[4]) -> f32[4] { return %"in:0" } }')

    assert parsed.functions[0].name == "a/b"
    assert parsed.functions[0].params[0].name == "in:0"
    assert parsed.functions[0].body.result is parsed.functions[0].params[0]


def test_a_dotted_name_is_a_name_and_brackets_are_a_projection() -> None:
    parsed = parse(body("%a.accel = exp(%x)\n%t.0 = (%a.accel,)\n%v = %t.0[0]"))

    names = [b.var.name for b in parsed.functions[0].body.bindings()]
    assert names == ["a.accel", "t.0", "v"]


def test_spans_point_into_the_source() -> None:
    source = Source("case", body("%v = add(%x,\n  %x) @host"), first_line=10)
    binding = next(parse(source).functions[0].body.bindings())

    assert str(binding.var.span) == "case:12:1"
    assert binding.value.span is not None
    assert binding.value.span.text == "add(%x,\n  %x)"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "found the end of the text, expected `module`"),
        ("module {}\nmodule", 2, "found `module`, expected the end of the text"),
        ("module {\n  fn main", 2, "found `main`, expected the name of a function such as @main"),
        ("module {\n op }", 2, "found `op`, expected `vdevice`, `type`, `fn` or `}`"),
        (body("%v = add(%x, exp(%x))"), 3, "found `exp`, expected an operand; give the inner call"),
        (body("%v = add(%x, 1)"), 3, "found `1`, expected an operand: a variable, a function or"),
        (body("%v = exp(%x) @host @accel"), 3, "found `@accel`, expected a statement or `return`"),
        (body("%a, %b = exp(%x)"), 3, "found `,`, expected `:` or `=`"),
        (body("%v = (%x)"), 3, "found `)`, expected `,`; a tuple of one is (%x,)"),
        (body("%v = f(axis = 1, %x)"), 3, "found `%x`, expected an attribute `name = value`"),
        (body("", "%x @host"), 4, "found `@host`, expected `}`"),
        (module("fn @f(%x) -> f32[] { return %x }"), 2, "found `)`, expected `:`"),
        (module("fn @f() { return %x }"), 2, "found `{`, expected `->`"),
        (body("%v = const f32[n] splat 1.0"), 3, "expected a dim; those of a constant are numbers"),
        (body("%v = exp(%x"), 4, "found `return`, expected `,` or `)`"),
    ],
)
def test_a_syntax_error_says_what_was_found_and_expected(
    text: str, line: int, message: str
) -> None:
    with pytest.raises(CompileError) as caught:
        parse(text)

    (found,) = caught.value.diagnostics
    assert found.code == "syntax-error"
    assert message in found.message
    assert found.span is not None
    assert found.span.line == line


@pytest.mark.parametrize("bad", ["$", '"open', '%"a\n"', "% x", "@", "1.", "&", "'a'"])
def test_what_starts_no_token_is_one_located_diagnostic(bad: str) -> None:
    found = problems(body(f"%v = exp({bad}"))

    assert len(found) == 1
    assert found[0].code in ("unreadable-text", "syntax-error")


def test_the_first_error_counts_also_if_what_follows_cannot_be_read() -> None:
    assert codes("module { module $") == ["syntax-error"]


def test_an_undeclared_role_is_shown_where_it_stands() -> None:
    source = Source(
        "undeclared_vdevice",
        "module {\n  vdevice @host\n  fn @main(%x: f32[4] @gpu) -> f32[4] {\n    return %x }\n}",
    )

    with pytest.raises(CompileError) as caught:
        parse(source)

    assert str(caught.value) == (
        "error[unknown-vdevice]: @gpu is not a virtual device of this module, which has @host\n"
        " --> undeclared_vdevice:3:23\n"
        "  |\n"
        "3 |   fn @main(%x: f32[4] @gpu) -> f32[4] {\n"
        "  |                       ^^^^\n"
        "  = help: declare it at the top of the module: vdevice @gpu"
    )


@pytest.mark.parametrize("word", ["shape", "const", "in", "f32"])
def test_a_reserved_word_is_no_attribute(word: str) -> None:
    text = f"module {{ fn @main(%x: f32[4]) -> f32[2, 2] {{ %y = reshape(%x, {word} = 1) }} }}"
    with pytest.raises(CompileError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert found.code == "syntax-error"
    assert f"{word} is a reserved word and names no attribute" in found.message
    assert (found.help is not None) == (word == "shape")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("module version 2 {}", "unsupported-version"),
        ("module { vdevice @a, @a }", "duplicate-vdevice"),
        ('module { vdevice @a = "cpu", @b = "cpu:0" }', "duplicate-vdevice"),
        ('module { vdevice @a = "no device" }', "invalid-device"),
        (body("%v = exp(%x) @gpu"), "unknown-vdevice"),
        (body("%v = op(%x, a = 1, a = 2)"), "duplicate-attribute"),
        (body("%v = op(%x, a = ?)"), "attribute-value"),
        (body("%v = op(%x, a = 1e999)"), "literal-out-of-range"),
        (body("%v = op(%x, a = 99999999999999999999)"), "number-too-large"),
        (body("%v = %x[99999999999999999999]"), "number-too-large"),
        (body("%v: f32[-1] = exp(%x)"), "invalid-dim"),
        (body("%v: f32[floordiv(n, 0)] = exp(%x)"), "invalid-dim"),
        (body("%v: f32[power(n, 2)] = exp(%x)"), "invalid-dim"),
        (body("%v: f32[4294967296*4294967296*n] = exp(%x)"), "invalid-dim"),
        (body(f"%v: f32[{'*'.join(['(n + 1)'] * 100)}] = exp(%x)"), "invalid-dim"),
        (body("%v = Cons(none)"), "constructor-operand"),
        (body("%v = Cons(@main)"), "constructor-operand"),
        (body("%v = Cons(%x, a = 1)"), "constructor-operand"),
        (body("%v = fn(%z: f32[4] donate) -> f32[4] { return %z }"), "invalid-donation"),
    ],
)
def test_what_is_wrong_beyond_the_grammar_has_a_code_and_a_place(text: str, code: str) -> None:
    found = problems(text)

    assert {d.code for d in found} == {code}
    assert all(d.span is not None for d in found)


def test_everything_beyond_the_grammar_is_reported_at_once_in_text_order() -> None:
    text = body("%a = exp(%x) @gpu\n%b = const u8[] 256\n%c = exp(%x) @tpu")

    assert codes(text) == ["unknown-vdevice", "literal-out-of-range", "unknown-vdevice"]


def test_a_role_with_the_same_device_in_another_scope_is_another_device() -> None:
    assert codes('module { vdevice @a = "cuda", @b = "cuda" scope "texture" }') == []


def test_importing_the_text_form_loads_neither_numpy_nor_compiler() -> None:
    program = (
        "import sys, reference_vm.text, reference_vm.ir.verify, reference_vm.ir.builder\n"
        "heavy = ('numpy', 'numba', 'llvmlite', 'onnx', 'ml_dtypes', 'reference_vm.passes',"
        " 'reference_vm.ops', 'reference_vm.compiler', 'reference_vm.codegen')\n"
        "print([m for m in sys.modules if m.startswith(heavy)])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
