"""Rules about names, calls, types, symbols, patterns and suffixes.

Each program marks the lines at fault: ``//~ code``, or ``//~^ code`` on the line below.
"""

from __future__ import annotations

import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ir import verify
from reference_vm.ir.nodes import Binding, Block, Call, Function, Module, Var
from reference_vm.source import Source
from reference_vm.text import markers, parse
from reference_vm.types import DTYPES, AdtType, TensorType, VirtualDevice
from tests.unit.text.programs import body, module, problems

LIST = "type List[T] { Nil, Cons(T, List[T]) }"
T4 = TensorType(DTYPES["f32"], (4,))

NAMES = """
  fn @main(%x: f32[4], %c: bool[],
      %x: f32[4]) -> f32[4] { //~ redefined-variable
    %a = exp(%b)  //~ undefined-variable
    %b = exp(%x)
    %b = exp(%x)  //~ redefined-variable
    %d = exp(%d)  //~ undefined-variable
    %i = if %c {
      %t = exp(%x)
      yield %t
    } else {
      %u = exp(%t)  //~ undefined-variable
      yield %u
    }
    %e = exp(%u)  //~ undefined-variable
    %j = if %c {
      %t = exp(%x)  //~ redefined-variable
      yield
        %lost  //~ undefined-variable
    } else { yield %x }
    %f = fn(%x: f32[4]) -> f32[4] {  //~ redefined-variable
      %r = %f(%x)  //~ recursive-closure
      return %r
    }
    %g = fn(%y: f32[4]) -> f32[4] { return %a }
    %h = exp(%y)  //~ undefined-variable
    return %c
  }
"""

DATAFLOW = """
  fn @pure(%x: f32[4]) -> f32[4] attrs { pure = true } { return %x }
  fn @main(%x: f32[4], %c: bool[]) -> f32[4] {
    %other = exp(%x)
    dataflow {
      %a = @pure(%x)
      %b = @main(%x, %c)                        //~ impure-dataflow
      %i = if %c { yield %x } else { yield %a } //~ impure-dataflow
      %m = match %x { _ => { yield %x } }       //~ impure-dataflow
      %f = fn(%y: f32[4]) -> f32[4] {
        %z = if %c { yield %y } else { yield %y }
        return %z
      }
      %v = %f(%x)                               //~ impure-dataflow
      output %a
    }
    %s = exp(%a)
    %t = exp(%b)                                //~ undefined-variable
    dataflow { output %other }                  //~ undefined-variable
    dataflow { output %no }                     //~ undefined-variable
    return %s
  }
"""

CALLS = """
  fn @one(%x: f32[4]) -> f32[4] { return %x }
  fn @main(%x: f32[4]) -> f32[4] {
    %a = @one(%x, %x)          //~ wrong-arity
    %b = @one()                //~ wrong-arity
    %c = @one(none)            //~ wrong-arity
    %d = @onne(%x)             //~ unknown-function
    %e = @two                  //~ unknown-function
    %f = vm.invoke(@three, %x) //~ unknown-function
    %g = @one(@one)
    return %x
  }
  fn @one() -> f32[4] { return %q } //~ duplicate-function
  //~^ undefined-variable
"""

DONATION = """
  fn @give(%x: f32[4] donate, %y: f32[4]) -> f32[4] { return %y }
  fn @main(%a: f32[4], %b: f32[4], %c: bool[], %d: f32[4]) -> f32[4] {
    %s = @give(%a, %b)
    %alias = %d
    %t = exp(%a)              //~ use-after-donation
    %u = @give(%b, %b)        //~ use-after-donation
    %v = if %c {
      %w = @give(%alias, %c)
      yield %w
    } else {
      %z = exp(%d)
      yield %z
    }
    %y = exp(%d)              //~ use-after-donation
    return
      %a                      //~ use-after-donation
  }
"""

TYPES = """
  type Pair[A, B] { Two(A, B) }
  type List[T] { Nil, Cons(T, List[T]),
    Bad(Lisp), //~ unknown-type
    Worse(List, //~ type-arity
      T[T]), //~^ type-arity
    Nil, //~ duplicate-constructor
    Sized(f32[n]) //~ unbound-dim
  }
  type Pair { Three } //~ duplicate-type
  type Twice[T, T] { Four(T) } //~ duplicate-type
  fn @main(%x: List[f32[4]],
      %y: List, //~ type-arity
      %z: (T) -> f32[4]) -> f32[4] { //~ unknown-type
    %a: Pair[f32[4]] = Two(%x, %x) //~ type-arity
    %f = fn(%w: f32[4]) -> None { return %w } //~ unknown-type
    return %x
  }
"""

SYMBOLS = """
  fn @main(%x: f32[n, 2*n], %y: f32[2*m], %s: (shape[k], f32[j])) -> f32[p]  //~ unbound-dim
      bounds n in 1..9, k in 0.. { //~^ unbound-dim
    %a: f32[q] = exp(%x)               //~ unbound-dim
    %b: f32[q, 2*q] = match_cast(%x)
    %c: f32[q, n + k + j] = exp(%b)
    %d = shape [n, floordiv(r, 2)]     //~ unbound-dim
    %e = shape [?]                     //~ invalid-dim
    %f = reshape(%x, to = [n, [zz]])   //~ unbound-dim
    %i = if %x {
      %g: f32[t] = match_cast(%x)
      yield %g
    } else {
      %h: f32[t] = exp(%x)             //~ unbound-dim
      yield %h
    }
    %l = fn(%w: f32[u, n]) -> f32[u] { return %w }
    %o: f32[u] = %l(%x)                //~ unbound-dim
    return %x
  }
  fn @part(%x: f32[4*n]) -> f32[4*n] attrs { primitive = true } { return %x }
  fn @bounds(%x: f32[n]) -> f32[n] bounds n in 5..4 { return %x }          //~ invalid-bounds
  fn @twice(%x: f32[n]) -> f32[n] bounds n in 1..2, n in 1..3 { return %x } //~ invalid-bounds
"""

PATTERNS = """
  type List[T] { Nil, Cons(T, List[T]) }
  type Nat { Z, S(Nat) }
  fn @main(%x: List[f32[4]], %p: (Nat, Nat)) -> f32[4] {
    %a = Cons(%x)  //~ constructor-arity
    %b = Conz(%x)  //~ unknown-constructor
    %c = match %x {
      Cons(%h) => { yield %x } //~ constructor-arity
      Conz => { yield %x }     //~ unknown-constructor
    }
    %d = match %x { Nil => { yield %x } Cons(_, _) => { yield %x } }
    %e = match %x { Nil => { yield %x } } //~ non-exhaustive-match
    %f = match %p { (Z, _) => { yield %x } (S(_), S(_)) => { yield %x } } //~ non-exhaustive-match
    %g = match %p { (Z, _) => { yield %x } (_, Z) => { yield %x } (S(_), S(_)) => { yield %x } }
    %i = match %x {
      Nil => { yield %x }
      Z => { yield %x } //~ mixed-patterns
    }
    %j = match %p {
      (_, _) => { yield %x }
    }
    %k = match %p {
      (Z, Z) => { yield %x }
      (Z, Z, Z) => { yield %x } //~ mixed-patterns
      _ => { yield %x }
    }
    return %x
  }
"""

PLACEMENT = """
  vdevice @host, @accel
  type Box { Some(f32[4]) }
  fn @main(%x: f32[4] @host, %p: (f32[4] @host, f32[4])) -> f32[4] @accel {
    %a = (%x, %x) @accel             //~ no-device-here
    %b = shape [4] @accel            //~ no-device-here
    %c = fn() -> f32[4] { return %x } @accel //~ no-device-here
    %d = @main @accel                //~ no-device-here
    %e = Some(%x) @accel             //~ no-device-here
    %f = device_copy(%x)             //~ copy-without-destination
    %g = to_vdevice(%x)              //~ copy-without-destination
    %h = hint_on_device(%x)          //~ copy-without-destination
    %i: f32[4] @host = exp(%x) @accel //~ contradicting-placement
    %j: (f32[4] @host, f32[4]) = split(%x) @accel //~ contradicting-placement
    %k: f32[4] @accel = exp(%x) @accel
    %l = const f32[] 1.0 @accel
    %m = %x @accel
    %n = %p[0] @accel
    %o = if %x { yield %x } else { yield %x } @accel
    %q: f32[4] = match_cast(%x) @accel
    %r = @main(%x, %p) @accel
    %s = device_copy(%x) @accel
    %t = match %x { _ => { yield %x } } @accel
    return %x
  }
"""


@pytest.mark.parametrize(
    "program",
    [NAMES, DATAFLOW, CALLS, DONATION, TYPES, SYMBOLS, PATTERNS, PLACEMENT],
    ids=["names", "dataflow", "calls", "donation", "types", "symbols", "patterns", "placement"],
)
def test_each_line_at_fault_gets_its_code_and_no_other_line_does(program: str) -> None:
    source = Source("rules", f"module {{{program}}}")
    expected = sorted(markers(source))

    found = problems(source)

    assert sorted((d.span.line if d.span else 0, d.code) for d in found) == expected
    assert [d.span.start for d in found if d.span] == sorted(d.span.start for d in found if d.span)


def test_verify_raises_with_everything_that_is_wrong() -> None:
    with pytest.raises(CompileError) as caught:
        verify.verify(parse(body("%a = exp(%y)\n%b = (%x, %x) @host")))

    assert [d.code for d in caught.value.diagnostics] == ["undefined-variable", "no-device-here"]


def test_a_well_formed_module_has_nothing_wrong() -> None:
    verify.verify(parse(body("%a = exp(%x) @accel")))


@pytest.mark.parametrize(
    ("arms", "missing"),
    [
        ("Nil => { yield %x }", "Cons(_, _)"),
        ("Nil => { yield %x } Cons(_, Nil) => { yield %x }", "Cons(_, Cons(_, _))"),
        ("Cons(_, Cons(_, _)) => { yield %x }", "Cons(_, Nil)"),
        ("Cons(_, Cons(_, _)) => { yield %x } Cons(_, Nil) => { yield %x }", "Nil"),
        ("Cons((Nil,), _) => { yield %x } Nil => { yield %x }", "Cons((Cons(_, _),), _)"),
    ],
)
def test_a_match_with_a_gap_shows_a_value_that_no_arm_matches(arms: str, missing: str) -> None:
    text = module(
        f"fn @f(%x: List[f32[4]]) -> f32[] {{ %m = match %x {{ {arms} }} return %m }}", LIST
    )

    assert [d.message for d in problems(text)] == [f"no arm matches {missing}"]


def test_a_match_too_large_to_prove_asks_for_a_wildcard() -> None:
    rows = [
        f"({', '.join(head if column == row else '_' for column in range(16))}) => {{ yield %x }}"
        for row in range(16)
        for head in ("Z", "S(Z)")
    ]

    def found(arms: list[str]) -> list[str]:
        function = (
            f"fn @f(%x: f32[4]) -> f32[4] {{ %m = match %x {{ {' '.join(arms)} }} return %m }}"
        )
        return [d.code for d in problems(module(function, "type Nat { Z, S(Nat) }"))]

    assert found(rows) == ["non-exhaustive-match"]
    assert found([*rows, "_ => { yield %x }"]) == []


def test_names_may_repeat_once_variables_know_their_source() -> None:
    x = Var("x", T4, source="main/%x")
    first, second = (Var("y", T4, source="main/%y") for _ in range(2))
    statements = (Binding(first, Call("exp", (x,))), Binding(second, Call("exp", (first,))))
    function = Function("main", (x,), T4, Block(statements, second))

    assert verify.check(Module(functions=(function,))) == []


def test_one_variable_is_bound_once_also_in_programs_without_text() -> None:
    x, y = Var("x", T4), Var("y", T4)
    statements = (Binding(y, Call("exp", (x,))), Binding(y, Call("exp", (x,))))
    function = Function("main", (x,), T4, Block(statements, y))

    assert [d.code for d in verify.check(Module(functions=(function,)))] == ["redefined-variable"]


def test_programs_without_text_are_held_to_their_declarations() -> None:
    gpu = VirtualDevice("gpu")
    x = Var("x", T4.on(gpu))
    y = Var("y", AdtType("List"))
    binding = Binding(y, Call("exp", (x,)), VirtualDevice("host", scope="other"))
    function = Function("main", (x,), T4, Block((binding,), y), donated=frozenset({3}))
    module = Module(vdevices=(VirtualDevice("host"), VirtualDevice("host")), functions=(function,))

    assert sorted(d.code for d in verify.check(module)) == [
        "duplicate-vdevice",
        "invalid-donation",
        "unknown-type",
        "unknown-vdevice",
        "unknown-vdevice",
    ]


def test_flags_of_a_function_are_true_or_false() -> None:
    text = module("fn @f(%x: f32[4]) -> f32[4] attrs { entry = 1 } { return %x }")

    assert [d.code for d in problems(text)] == ["attribute-type"]


def test_a_misspelled_name_is_answered_with_the_near_one() -> None:
    (found,) = problems(body("%total = exp(%x)\n%v = exp(%totl)"))

    assert found.help == "did you mean %total?"
