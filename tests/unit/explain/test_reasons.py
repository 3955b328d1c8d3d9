"""Each value is explained by the rule that placed it, and by the line that decided."""

from __future__ import annotations

import pytest

import reference_vm as rv
from reference_vm.ops.catalog import OPS
from reference_vm.passes.bind_vdevices import BindVdevices
from reference_vm.passes.context import Pass, PassContext
from reference_vm.passes.explain import explain
from reference_vm.passes.explanation import FunctionPlan, Plan, Residence
from reference_vm.passes.infer_types import InferTypes
from reference_vm.passes.placement_reasons import Rule
from reference_vm.types import DeviceMap

MAP = "host=cpu:0,accel=sim:0,other=sim:1"


def plan(
    body: str, head: str = "%a: f32[4], %b: f32[4]", result: str = "f32[4]", **options: str
) -> FunctionPlan:
    text = (
        "module {\n  vdevice @host, @accel, @other\n"
        f"  fn @main({head}) -> {result} {{\n{body}\n  }}\n}}\n"
    )
    (function,) = rv.explain(rv.parse(text), MAP, **options).functions  # type: ignore[arg-type]
    return function


def residence(found: FunctionPlan, name: str) -> Residence:
    return next(r for r in found.residences if r.name == f"main/%{name}")


@pytest.mark.parametrize(
    ("body", "device", "rule", "line"),
    [
        ("%x = exp(%a) @accel\nreturn %x", "accel", Rule.REQUEST, 4),
        ("%x: f32[4] @accel = exp(%a)\nreturn %x", "accel", Rule.PIN, 4),
        ("%x = exp(%a)\nreturn %x", "host", Rule.DEFAULT, 4),
        ("%x = exp(%a)\n%h = hint_on_device(%x) @accel\nreturn %h", "accel", Rule.GROUP, 5),
    ],
)
def test_an_operator(body: str, device: str, rule: Rule, line: int) -> None:
    found = residence(plan(body), "x")

    assert (found.device.role, found.rule, found.why.line) == (device, rule, line)


def test_a_parameter_lives_where_it_is_read() -> None:
    found = residence(plan("%x = exp(%a) @accel\nreturn %x"), "a")

    assert (found.device.role, found.rule) == ("accel", Rule.PARAMETER)
    assert (found.why.text, found.why.line) == ("only @accel reads it", 4)


def test_a_parameter_that_nobody_reads_lives_on_the_host() -> None:
    found = residence(plan("%x = exp(%a)\nreturn %x"), "b")

    assert found.why.text == "no device reads it: the host"


def test_a_parameter_read_on_two_devices_lives_on_the_first_of_the_map() -> None:
    body = "%x = exp(%a) @other\n%y = exp(%a) @accel\n%z = add(%x, %y) @accel\nreturn %z"

    assert residence(plan(body), "a").why.text == "@accel is the first of the map that reads it"


def test_a_constant_is_made_where_it_is_read() -> None:
    body = "%k = const f32[] 2.0\n%x = add(%a, %k) @accel\n%y = add(%x, %k) @host\nreturn %y"
    found = residence(plan(body), "k")

    assert found.rule is Rule.CONSTANT
    assert found.why.text == "made at load where it is read: @accel and @host"


def test_shapes_are_host_facts() -> None:
    body = (
        "%s = shape_of(%a)\n%t = shape_to_tensor(%s)\n%two = const i64[] 2\n"
        "%u = equal(%t, %two)\n%x = exp(%a) @accel\nreturn %u"
    )
    found = plan(body, "%a: f32[n]", "bool[1]")

    assert residence(found, "u").rule is Rule.HOST_FACT
    assert residence(found, "u").why.text == "computed from host facts alone"


def test_a_view_has_no_place_of_its_own() -> None:
    body = "%two = const i64[2] [2, 2]\n%x = exp(%a) @accel\n%v = reshape(%x, %two)\nreturn %v"
    found = residence(plan(body, result="f32[2, 2]"), "x")

    assert [(v.text, v.line) for v in found.views] == [("main/%v", 6)]


def test_a_request_of_an_option_is_said_to_be_one() -> None:
    by_split = residence(plan("%x = exp(%a)\nreturn %x", split="alternate"), "x")
    by_name = residence(plan("%x = exp(%a)\nreturn %x", place="x=other"), "x")

    assert by_split.why.text == "requested by --split=alternate: @host"
    assert by_name.why.text == "requested by --place: @other"


def test_a_copy_names_both_facts_and_every_reader() -> None:
    body = "%x = exp(%a) @host\n%y = abs(%x) @accel\n%z = add(%y, %x) @accel\nreturn %z"
    (copy,) = [t for t in plan(body).transfers if t.cause == "read"]

    assert (copy.name, copy.source.role, copy.target.role) == ("main/%x", "host", "accel")
    assert (copy.made.text, copy.made.line) == ("made on @host by exp", 4)
    assert (copy.read.text, copy.read.line) == ("read on @accel by %y = abs", 5)
    assert [(f.text, f.line) for f in copy.others] == [("read on @accel by %z = add", 6)]
    assert copy.bytes == 16


def test_a_contested_group_shows_its_cut_and_its_alternatives() -> None:
    body = "%x = exp(%a)\n%y = sum(%x, axis = [0])\n%z = add(%y, %b)\nreturn %z"
    found = plan(body, "%a: f32[64, 4] @host, %b: f32[4] @accel", "f32[4] @accel")
    (cut,) = found.cuts

    assert cut.proven
    assert {n: d.role for n, d in cut.operators.items()} == {
        "main/%x": "host",
        "main/%y": "host",
        "main/%z": "accel",
    }
    assert (cut.chosen.bytes, cut.chosen.copies) == (16, 1)
    alternatives = {d.role: c.bytes for d, c in cut.alternatives.items()}
    assert alternatives == {"host": 32, "accel": 1024}
    assert [f.text for f in cut.pulls] == [
        "%a lives on @host",
        "%b lives on @accel",
        "%z is returned on @accel",
    ]


def test_variables_of_one_name_are_told_apart() -> None:
    text = (
        "module {\n  vdevice @host, @accel, @other\n"
        "  fn @f(%x: f32[4]) -> f32[4] {\n    %y = exp(%x)\n    %z = abs(%y)\n    return %z\n  }\n"
        "  fn @main(%a: f32[4]) -> f32[4] {\n    %p = @f(%a) @accel\n    %q = @f(%p) @host\n"
        "    return %q\n  }\n}\n"
    )
    module = rv.explain(rv.parse(text), MAP)
    found = next(f for f in module.functions if f.name == "main")
    copies = [t for t in found.transfers if t.cause == "read"]

    assert [(t.source.role, t.target.role) for t in copies] == [("accel", "host")]
    assert copies[0].made.text == "made on @accel by abs"


RECURSIVE = """module {
  vdevice @host, @accel
  fn @f(%x: f32[4], %n: i64[]) -> f32[4] {
    %zero = const i64[] 0
    %done = equal(%n, %zero)
    %r = if %done {
      yield %x
    } else {
      %one = const i64[] 1
      %m = subtract(%n, %one)
      %y = exp(%x)
      %z = @f(%y, %m)
      yield %z
    }
    return %r
  }
  fn @main(%a: f32[4] @accel, %n: i64[]) -> f32[4] @host attrs { entry = true } {
    %p = @f(%a, %n)
    %q = abs(%p) @host
    return %q
  }
}
"""


def planned(text: str, *passes: Pass) -> Plan:
    """Explain a program of what is planned already, but not lowered."""
    ctx = PassContext(OPS, DeviceMap.parse("host=cpu:0,accel=sim:0"))
    return explain(rv.parse(text), {}, ctx, (BindVdevices(), *passes))


def test_what_a_call_decides_is_said_to_be_decided_by_it() -> None:
    module = planned(RECURSIVE, InferTypes())
    by_name = {f.name: f for f in module.functions}
    x = next(r for r in by_name["f"].residences if r.name == "f/%x")
    p = next(r for r in by_name["main"].residences if r.name == "main/%p")

    assert (x.rule, x.device.role) == (Rule.CALL, "accel")
    assert (p.rule, p.made_by) == (Rule.CALL, "@f")
    assert not [t for t in by_name["f"].transfers if t.cause in ("argument", "deliver")]


BOXED = """module {
  vdevice @host, @accel
  type Box[T] { Box(T) }
  fn @main(%a: f32[4]) -> Box[f32[4]] {
    %x: f32[4] = exp(%a) @accel
    %b: Box[f32[4]] = Box(%x)
    return %b
  }
}
"""


def test_data_types_hold_what_is_put_into_them_on_one_device() -> None:
    (found,) = planned(BOXED).functions
    held = [r.device.role for r in found.residences if r.rule is Rule.CONTAINED]

    assert held == ["accel"]


def test_what_a_data_type_declares_is_copied_to_where_it_is_held() -> None:
    text = BOXED.replace("Box[T] { Box(T) }", "Box { Box(f32[4]) }").replace("Box[f32[4]]", "Box")
    (found,) = planned(text).functions
    (copy,) = [t for t in found.transfers if t.cause == "read"]

    assert copy.made.text == "made on @accel by exp"
    assert copy.read.text == "held on @host by %b = construct"


def test_a_function_planned_for_two_devices_is_explained_for_each() -> None:
    calls = (
        "    %p = @f(%a, %n)\n    %b = negative(%q)\n    %q2 = @f(%b, %n)\n"
        "    %q3 = add(%p, %q2) @host\n    return %q3\n"
    )
    head, _, _ = RECURSIVE.partition("    %p = @f")
    text = head + calls.replace("%q)", "%c)") + "  }\n}\n"
    text = text.replace("%a: f32[4] @accel, %n", "%a: f32[4] @accel, %c: f32[4] @host, %n")
    module = planned(text, InferTypes())
    devices = {r.device.role for f in module.functions for r in f.residences if r.name == "f/%x"}

    assert devices == {"host", "accel"}
