"""What the grammar leaves open about the language, as programs accepted and refused."""

from __future__ import annotations

import pytest

from tests.unit.text.programs import body, codes, module

LIST = "type List[T] { Nil, Cons(T, List[T]) }"
FN = "fn @f(%x: f32[n]) -> f32[n] { return %x }"

ACCEPTED = {
    "a module may be empty": "module {}",
    "functions and roles are two name spaces": module(
        "fn @host(%x: f32[n] @host) -> f32[n] { %y = @host(%x) @host return %y }"
    ),
    "an @name as an expression or operand is a function": module(
        "fn @accel(%x: f32[n]) -> f32[n] { %f = @accel %y = map(@accel, %x) @accel return %y }"
    ),
    "types of bindings may be absent": body("%y = exp(%x)"),
    "the value of an alias, projection, if, match or match_cast can be placed": body(
        "%t = (%x,)\n%a = %x @host\n%p = %t[0] @host\n%m: f32[n, 4] = match_cast(%x) @host\n"
        "%i = if %x { yield %x } else { yield %a } @host\n"
        "%j = match %t { (%q,) => { yield %q } } @host"
    ),
    "a constant and a call of a function can be placed": body(
        "%c = const f32[] 1.0 @accel\n%y = @main(%x) @accel\n"
        "%f = fn() -> f32[...] { return %x }\n%z = %f() @accel"
    ),
    "a type and a suffix that agree are no contradiction": body("%y: f32[4] @host = exp(%x) @host"),
    "roles may share a device in different scopes": module(
        FN, 'vdevice @a = "cuda:0", @b = "cuda:0" scope "texture"'
    ),
    "only leaves of a type carry a role": module(
        "fn @f(%x: (f32[4] @host, (f32[2] @accel,))) -> f32[4] @host { %y = %x[0] return %y }"
    ),
    "a dotted name is a name": body("%x.accel = device_copy(%x) @accel"),
    "foreign names are quoted": module('fn @"a b"(%"in:0": f32[n]) -> f32[n] { return %"in:0" }'),
    "a scalar has no dims and an empty tensor no elements": body(
        "%a = const f32[] 1.0\n%b = const f32[0, 3] []"
    ),
    "nan is the default quiet NaN and other NaNs are hex": body(
        '%a = const f32[] nan\n%b = const f32[] hex "010080ff"'
    ),
    "weights stand beside the module": body('%w = const f32[4] from "w/a.safetensors" "k"'),
    "a symbol alone in a parameter is bound, also in a tuple or data type": module(
        "fn @f(%x: (f32[n], shape[m]), %l: List[f32[k]]) -> f32[n + m*k] { %y = g(%x) return %y }",
        LIST,
    ),
    "a match_cast binds to the end of its region": body(
        "%y: f32[m] = match_cast(%x)\n%z: f32[2*m] = f(%y)"
    ),
    "symbols of a callee are its own": module(
        FN + "fn @g(%x: f32[m]) -> f32[m] { %y = @f(%x) return %y }"
    ),
    "dims divide by functions": body(
        "%y: f32[floordiv(n, 2), ceildiv(n, 2), mod(n, 2), min(n, 2), max(n, 2)] = f(%x)"
    ),
    "a bound without an upper end is open": module(
        "fn @f(%x: f32[n]) -> f32[n] bounds n in 1.. { return %x }"
    ),
    "shape values are literals and types": body(
        "%s: shape[n, 4] = shape [n, 4]\n%t: shape[...] = %s"
    ),
    "several results are a tuple": body(
        "%t = if %x { %a = (%x, %x) yield %a } else { %b = (%x, %x) yield %b }\n%y = %t[1]"
    ),
    "a yielded variable may be one from outside": body("%i = if %x { yield %x } else { yield %x }"),
    "a constructor without fields may be written without type where nothing is inferred": module(
        "fn @f(%x: List[f32[n]]) -> List[f32[n]] { %y: List[f32[n]] = Nil() return %y }", LIST
    ),
    "functions are polymorphic in symbols and types in types": module(FN, LIST),
    "functions recur": module("fn @f(%x: f32[n]) -> f32[n] { %y = @f(%x) return %y }"),
    "a dataflow block gives out its outputs": body(
        "dataflow { %a = exp(%x) %b = exp(%a) output %b }\n%c = f(%b)"
    ),
    "a call of a pure function is pure": module(
        "fn @p(%x: f32[n]) -> f32[n] attrs { pure = true } { return %x }"
        "fn @f(%x: f32[n]) -> f32[n] { dataflow { %y = @p(%x) output %y } return %y }"
    ),
    "a parameter may be donated": module(
        "fn @g(%x: f32[n] donate) -> f32[n] { return %x }"
        "fn @f(%x: f32[n] donate) -> f32[n] { %y = @g(%x) return %y }"
    ),
    "lowered forms are ordinary operators": body(
        "%st: u8[64] @host = vm.alloc_storage(size = 64, alignment = 64)\n"
        '%t = vm.invoke(@main, %x, %st, outputs = 1, offsets = [0], defines = ["main/%t"])\n'
        "%k: () = vm.kill(%st)"
    ),
    "a primitive function uses the symbols of its caller": module(
        "fn @fused_add_exp(%x: f32[4*n]) -> f32[4*n] attrs { primitive = true } { return %x }"
    ),
    "version 1 may be said": "module version 1 {}",
    "small and short dtypes parse": body(
        "%a = const i4[] -8\n%b = const u4[] 15\n%c = const f8e4m3fn[] 0.5\n%d = const f8e5m2[] inf"
    ),
}

REFUSED = {
    "a bare function is no module": (FN, "syntax-error"),
    "a role is declared": (body("%y = exp(%x) @gpu"), "unknown-vdevice"),
    "a parameter has a type": (module("fn @f(%x) -> f32[] { return %x }"), "syntax-error"),
    "a result has a type": (module("fn @f(%x: f32[n]) { return %x }"), "syntax-error"),
    "return has no suffix": (body("", "%x @host"), "syntax-error"),
    "a binding has one suffix": (body("%y = exp(%x) @host @accel"), "syntax-error"),
    "a copy has a destination": (
        body("%y: f32[4] @accel = device_copy(%x)"),
        "copy-without-destination",
    ),
    "a tuple is not placed": (body("%y = (%x,) @host"), "no-device-here"),
    "a function name is not placed": (body("%y = @main @host"), "no-device-here"),
    "type and suffix agree": (body("%y: f32[4] @host = exp(%x) @accel"), "contradicting-placement"),
    "a tuple type carries no role": (
        module("fn @f(%x: (f32[4],) @host) -> f32[] { return %x }"),
        "syntax-error",
    ),
    "two roles of one device and scope are one": (
        'module { vdevice @a = "cuda:0", @b = "cuda" }',
        "duplicate-vdevice",
    ),
    "nothing is shadowed": (
        body("%f = fn(%x: f32[4]) -> f32[4] { return %x }"),
        "redefined-variable",
    ),
    "operands are names": (body("%y = add(%x, 1.0)"), "syntax-error"),
    "calls do not nest": (body("%y = add(%x, exp(%x))"), "syntax-error"),
    "data does not nest": (body("%y = const f32[1, 1] [[1.0]]"), "syntax-error"),
    "weights stay beside the module": (body('%w = const f32[4] from "../w" "k"'), "weights-path"),
    "a symbol in an expression is not bound by it": (
        module("fn @f(%x: f32[2*n]) -> f32[...] { return %x }"),
        "unbound-dim",
    ),
    "a symbol of match_cast ends with its region": (
        body(
            "%i = if %x { %y: f32[m] = match_cast(%x) yield %y } else { yield %x }\n"
            "%z: f32[m] = f(%i)"
        ),
        "unbound-dim",
    ),
    "slashes are comments and no division": (body("%y: f32[n // 2] = f(%x)"), "syntax-error"),
    "results are not taken apart by binding": (body("%a, %b = split(%x)"), "syntax-error"),
    "a constructor has parentheses as an expression": (
        module("fn @f(%x: List[f32[n]]) -> f32[n] { %y = Nil return %y }", LIST),
        "syntax-error",
    ),
    "operators begin small and constructors with a capital": (
        body("%y = Exp(%x)"),
        "unknown-constructor",
    ),
    "functions have no type parameters": (
        module("fn @f[T](%x: f32[n]) -> f32[n] { return %x }"),
        "syntax-error",
    ),
    "a match is exhaustive": (
        module(
            "fn @f(%x: List[f32[n]]) -> f32[] { %m = match %x { Nil => { yield %x } } return %m }",
            LIST,
        ),
        "non-exhaustive-match",
    ),
    "a closure is not recursive": (
        body("%f = fn() -> f32[] { %y = %f() return %y }"),
        "recursive-closure",
    ),
    "a dataflow block chooses nothing": (
        body("dataflow { %y = if %x { yield %x } else { yield %x } output %y }"),
        "impure-dataflow",
    ),
    "what a dataflow block does not output stays inside": (
        body("dataflow { %a = exp(%x) output }\n%b = exp(%a)"),
        "undefined-variable",
    ),
    "attributes follow operands": (body("%y = sum(axis = 1, %x)"), "syntax-error"),
    "reserved words are no attributes": (body("%y = f(%x, shape = 1)"), "syntax-error"),
    "reserved words are no symbols": (body("%y: f32[in] = f(%x)"), "syntax-error"),
    "there are no references": (body("%y = ref %x"), "syntax-error"),
    "other versions are refused": ("module version 2 {}", "unsupported-version"),
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(("text", "code"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str, code: str) -> None:
    assert codes(text) == [code]
