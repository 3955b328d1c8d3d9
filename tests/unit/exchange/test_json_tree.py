"""The JSON tree says what the module says, and what is wrong with a tree is told with its place."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

import reference_vm.exchange
from hettest.corpus import cases, corpus_root
from reference_vm.diagnostics import CompileError
from reference_vm.exchange import from_json, to_json
from reference_vm.ir.nodes import Constant, Module
from reference_vm.ir.structural import equal
from reference_vm.text import parse, print_module
from tests.property.modules import modules

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads(
    (Path(reference_vm.exchange.__file__).parent / "tree.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PROGRAM = """
module {
  vdevice @host, @accel = "sim:1" scope "texture"
  type List[T] { Nil, Cons(T, List[T]) }
  fn @main(%a: f32[n, 4] donate, %c: bool[]) -> f32[n, 4] @host bounds n in 1..9
      attrs { entry = true } {
    %k = const f32[2] [0.1, nan]
    dataflow {
      %s = exp(%a) @accel
      %r = sum(%s, axis = [0], keepdims = true)
      output %s
    }
    %t: (f32[n, 4], f32[n, 4]) = (%a, %s)
    %p = %t[1]
    %y = if %c {
      yield %p
    } else {
      %z = cast(%a, to = f32)
      yield %z
    }
    %f = fn(%q: f32[n, 4]) -> f32[n, 4] {
      return %q
    }
    %w = %f(%y)
    %n: List[f32[n, 4]] = Nil()
    %m = match %n {
      Cons(%x, _) => {
        yield %x
      }
      _ => {
        yield %w
      }
    }
    %g = @main(%m, %c)
    return %g
  }
}
"""


def round_trip(module: Module) -> Module:
    return from_json(json.loads(json.dumps(to_json(module), allow_nan=False)))


def programs() -> list[str]:
    texts = {case.text: case.id for case in cases(corpus_root()) if not case.refused}
    return list(texts)


def test_every_program_of_the_corpus_comes_back_and_keeps_the_schema() -> None:
    found = programs()

    for text in found:
        module = parse(text)
        tree = to_json(module)
        assert equal(from_json(json.loads(json.dumps(tree, allow_nan=False))), module), text
    for text in found[:: len(found) // 40]:
        VALIDATOR.validate(to_json(parse(text)))
    assert len(found) > 300


@given(modules())
@settings(max_examples=60, deadline=None)
def test_random_modules_come_back_and_keep_the_schema(module: Module) -> None:
    back = round_trip(module)

    assert equal(back, module)
    assert to_json(back) == to_json(module)
    assert print_module(back) == print_module(module)
    VALIDATOR.validate(to_json(module))


def test_every_kind_of_binding_is_in_the_schema() -> None:
    module = parse(PROGRAM)

    tree = to_json(module)

    VALIDATOR.validate(tree)
    assert equal(round_trip(module), module)
    (function,) = tree["functions"]
    assert [b["name"] for b in function["body"]["bindings"]][:4] == ["k", "s", "r", "t"]
    assert function["body"]["dataflow"] == [{"first": 1, "count": 2, "outputs": ["s"]}]
    assert function["body"]["bindings"][1] == {
        "name": "s",
        "kind": "call",
        "op": "exp",
        "args": ["a"],
        "attrs": {},
        "device": "accel",
        "type": None,
    }
    assert function["body"]["bindings"][0]["data"] == [pytest.approx(0.1), "nan"]


def test_a_program_nested_a_thousand_deep_comes_back() -> None:
    depth = 900
    opened = "".join(f"%y{i} = if %c {{ " for i in range(depth))
    closed = "".join(f"}} else {{ yield %x }} yield %y{i} " for i in reversed(range(1, depth)))
    body = f"{opened} yield %x {closed}}} else {{ yield %x }}"
    module = parse(f"module {{ fn @main(%x: f32[], %c: bool[]) -> f32[] {{ {body} return %y0 }} }}")

    assert equal(from_json(to_json(module)), module)


def test_the_page_shows_one_program_in_both_forms() -> None:
    page = (ROOT / "docs/reference/program-json.md").read_text(encoding="utf-8")
    (tree,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (text,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)

    assert to_json(parse(text)) == json.loads(tree)
    kinds = [b["properties"]["kind"]["const"] for b in SCHEMA["$defs"]["binding"]["oneOf"]]
    assert not [kind for kind in kinds if f"| `{kind}` |" not in page]


def changed(path: str, value: object) -> dict[str, Any]:
    tree = deepcopy(to_json(parse(PROGRAM)))
    *keys, last = path.replace("]", "").replace("[", ".").split(".")
    at: Any = tree
    for key in keys:
        at = at[int(key) if key.isdigit() else key]
    at[int(last) if last.isdigit() else last] = value
    return tree


FUNCTION = "functions[0]"
BINDINGS = "functions[0].body.bindings"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "x", "format: found 'x', expected 'hettest-program-1'"),
        ("vdevices[0].name", 3, "vdevices[0].name: found 3, expected a string"),
        ("vdevices[1].name", "host", "vdevices[1]: found host again, expected each role once"),
        ("vdevices[1].device", "?", "vdevices[1].device: found '?', expected a device such as"),
        ("types[0].params", None, "types[0].params: found None, expected a list"),
        (f"{FUNCTION}.name", None, f"{FUNCTION}.name: found None, expected a string"),
        (f"{FUNCTION}.nmae", 1, "found 'nmae', expected no such key\n  = help: did you mean name?"),
        (f"{FUNCTION}.params", {}, "params: found an object with no keys, expected a list"),
        (f"{FUNCTION}.params[0].donate", 1, "params[0].donate: found 1, expected true or false"),
        (f"{FUNCTION}.returns.kind", "x", "returns.kind: found 'x', expected one of tensor, "),
        (f"{FUNCTION}.returns.dtype", "f3", "expected a dtype such as f32\n  = help: did you mean"),
        (f"{FUNCTION}.returns.vdevice", "gpu", "a role that vdevices declares: host, accel"),
        (f"{FUNCTION}.returns.shape[0]", -1, "returns.shape[0]: found -1, expected 0 or more"),
        (f"{FUNCTION}.returns.shape[0]", "n +", f"--> {FUNCTION}.returns.shape[0]:1:4"),
        (f"{FUNCTION}.bounds[0].lower", -1, "bounds[0].lower: found -1, expected 0 or more"),
        (f"{FUNCTION}.body.dataflow[0].count", 99, "expected a part of the 11 bindings"),
        (f"{FUNCTION}.body.result", 1, "body.result: found 1, expected a variable's name"),
        (f"{BINDINGS}[1]", 1, "bindings[1]: found 1, expected an object that is a binding"),
        (f"{BINDINGS}[1].kind", "cal", "bindings[1].kind: found 'cal', expected one of call, "),
        (f"{BINDINGS}[1].args", [1], "bindings[1].args[0]: found 1, expected a variable's name"),
        (f"{BINDINGS}[1].attrs", {"x": {"y": 1}}, "attrs.x: found an object with y, expected one"),
        (f"{BINDINGS}[0].data", [1.0], "expected 2 elements for f32[2], found 1"),
        (f"{BINDINGS}[0].data[0]", True, "data[0]: found True, expected a number, for f32"),
        (f"{BINDINGS}[0].data[0]", 1e300, "expected an element of f32: 1e+300 is beyond"),
        (f"{BINDINGS}[0].hex", "00", "expected either a key data or a key hex"),
        (f"{BINDINGS}[4].args", [], "bindings[4].args: found [], expected one name"),
    ],
)
def test_a_malformed_tree_is_refused_with_its_place(path: str, value: object, message: str) -> None:
    with pytest.raises(CompileError) as refused:
        from_json(changed(path, value))

    assert message in str(refused.value)


def test_a_missing_key_is_named() -> None:
    tree = to_json(parse(PROGRAM))
    del tree["functions"][0]["body"]["result"]

    with pytest.raises(CompileError, match=r"functions\[0\]\.body: found .* expected a key result"):
        from_json(tree)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('const i64[1] hex "0000000000000080"', {"hex": "0000000000000080"}),
        ("const i64[1] [9007199254740992]", {"data": [9007199254740992]}),
        ('const f32[1] hex "0100c07f"', {"hex": "0100c07f"}),
        ("const f32[2] [-0.0, inf]", {"data": [-0.0, "inf"]}),
        ("const bool[1] [true]", {"data": [True]}),
        ("const u8[65] splat 1", {"hex": "01" * 65}),
    ],
)
def test_constants_are_written_exactly(written: str, expected: dict[str, Any]) -> None:
    module = parse(f"module {{ fn @main() -> f32[] {{ %k = {written} return %k }} }}")

    (binding,) = to_json(module)["functions"][0]["body"]["bindings"]

    assert {k: v for k, v in binding.items() if k in ("data", "hex")} == expected
    (back,) = round_trip(module).by_name["main"].body.bindings()
    (before,) = module.by_name["main"].body.bindings()
    assert isinstance(back.value, Constant)
    assert back.value == before.value
