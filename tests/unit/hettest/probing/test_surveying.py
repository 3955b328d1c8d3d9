"""`hettest probe` tells apart what is declared and works, declared and fails, and not declared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hettest.corpus import cases, select
from hettest.limits import Limits
from hettest.outcome import Outcome
from hettest.probing.choosing import choices
from hettest.probing.markdown import render
from hettest.probing.support import Colour, Support, Survey, Tried
from hettest.probing.surveying import survey
from hettest.probing.widened import Widened, name_of, widened
from hettest.runner.cases import CaseData
from tests.unit.hettest.test_cli import hettest
from tests.unit.hettest.unruly import CLAIMS

DECLARES = "tests.unit.hettest.unruly:Declares"
DEVICES = ("cpu:0", "npu:0")
CASE = """
format  = 1
summary = "an operator on two operands"
level   = 2
clauses = ["ops.{op}"]
program = '''
module {{
  fn @main(%x: {dtype}[{size}], %y: {dtype}[{size}]) -> {dtype}[{size}] {{
    %r = {op}({operands})
    return %r
  }}
}}
'''
[[run]]
name = "plain"
args.x = {{ dtype = "{dtype}", shape = [{size}], fill = 1 }}
args.y = {{ dtype = "{dtype}", shape = [{size}], fill = 2 }}
result = "oracle"
"""
PROGRAMS = {
    "add/small": {"op": "add", "dtype": "f32", "size": 2},
    "add/large": {"op": "add", "dtype": "f32", "size": 200},
    "add/integers": {"op": "add", "dtype": "i32", "size": 2},
    "multiply/small": {"op": "multiply", "dtype": "f32", "size": 2},
    "negative/small": {"op": "negative", "dtype": "f32", "size": 2, "operands": "%x"},
    "abs/small": {"op": "abs", "dtype": "i64", "size": 2, "operands": "%x"},
}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder of six small cases."""
    for name, values in PROGRAMS.items():
        path = tmp_path / "cases" / "ops" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CASE.format(**{"operands": "%x, %y", **values}))
    return tmp_path / "cases"


def colours(found: Survey) -> dict[str, Colour]:
    return {support.word: support.colour for support in found.words}


def test_each_word_has_its_colour(corpus: Path) -> None:
    items = select(cases(corpus), DEVICES).items

    found = survey(DECLARES, DEVICES, items, Limits())

    assert colours(found) == {
        "dtype:f32": Colour.WORKS,
        "dtype:i32": Colour.UNTESTED,
        "dtype:i64": Colour.ABSENT,
        "op:abs:i64": Colour.ABSENT,
        "op:add:f32": Colour.WORKS,
        "op:add:i32": Colour.UNDECLARED,
        "op:multiply:f32": Colour.FAILS,
        "op:negative:f32": Colour.ABSENT,
    }
    assert found.exit_code == 1


def test_the_smallest_items_are_chosen_on_each_device(corpus: Path) -> None:
    items = select(cases(corpus), DEVICES).items
    data = CaseData()
    needs = {item.id: data.requires(item) for item in items}
    chosen = {c.word: c for c in choices(needs, items, frozenset(CLAIMS), 1)}

    assert [item.id for item in chosen["op:add:f32"].items] == [
        "ops/add/small[plain,default=cpu:0]",
        "ops/add/small[plain,default=npu:0]",
    ]
    assert len(next(c for c in choices(needs, items, frozenset(CLAIMS), 2)).items) == 4
    assert not chosen["op:add:i32"].declared, "its dtype is not"


def test_a_dtype_that_no_operator_is_claimed_for_is_tried_with_all(corpus: Path) -> None:
    items = select(cases(corpus), DEVICES).items
    data = CaseData()
    needs = {item.id: data.requires(item) for item in items}
    claims = frozenset({"device:*", "op:add:f32", "dtype:f32", "input:json"})

    chosen = {c.word: c for c in choices(needs, items, claims, 1)}

    assert [item.case.id for item in chosen["dtype:i32"].items] == ["ops/add/integers"] * 2


PLACED = """
format  = 1
summary = "an operator placed on another device"
level   = {level}
clauses = ["ops.add"]
requires = ["distinct-devices"]
program = '''
module {{
  vdevice @host, @accel
  fn @main(%x: f32[2]) -> f32[2] {{
    %s = add(%x, %x) @host
    %r = add(%s, %x) @accel
    return %r
  }}
}}
'''
[[run]]
name = "plain"
args.x = {{ dtype = "f32", shape = [2], fill = 1 }}
result = "oracle"
"""


def test_an_operator_is_not_to_blame_for_a_copy(tmp_path: Path) -> None:
    (tmp_path / "placed.toml").write_text(PLACED.format(level=3))
    devices = ("cpu:0", "sim:0")
    items = select(cases(tmp_path), devices).items

    found = survey("tests.unit.hettest.fake_backend:copy_twice", devices, items, Limits())

    shown = colours(found)
    assert shown["op:add:f32"] is Colour.WORKS
    assert shown["dtype:f32"] is Colour.WORKS


def test_operators_are_tried_where_they_stand_alone_if_they_do(corpus: Path) -> None:
    (corpus / "ops" / "add" / "a.toml").write_text(PLACED.format(level=3))
    items = select(cases(corpus), DEVICES).items
    data = CaseData()
    needs = {item.id: data.requires(item) for item in items}

    chosen = {c.word: c for c in choices(needs, items, frozenset({*CLAIMS, "dtype:*"}), 9)}

    assert {item.case.level for item in chosen["op:add:f32"].items} == {2}


def tried(*outcomes: Outcome) -> tuple[Tried, ...]:
    return tuple(Tried("ops/x", outcome, "why | what") for outcome in outcomes)


@pytest.mark.parametrize(
    ("declared", "outcomes", "colour"),
    [
        (True, (Outcome.PASSED,), Colour.WORKS),
        (True, (Outcome.PASSED, Outcome.FAILED), Colour.FAILS),
        (True, (Outcome.CRASHED,), Colour.FAILS),
        (True, (Outcome.UNSUPPORTED,), Colour.UNTESTED),
        (True, (), Colour.UNTESTED),
        (False, (Outcome.PASSED,), Colour.UNDECLARED),
        (False, (Outcome.PASSED, Outcome.CRASHED), Colour.ABSENT),
        (False, (Outcome.UNSUPPORTED,), Colour.UNTESTED),
    ],
)
def test_colours(declared: bool, outcomes: tuple[Outcome, ...], colour: Colour) -> None:
    assert Support("op:x", declared, tried(*outcomes)).colour is colour


def test_the_page_has_operators_by_dtype_and_what_fails() -> None:
    words = (
        Support("construct:if", True, tried(Outcome.PASSED)),
        Support("op:add:f32", True, tried(Outcome.FAILED)),
        Support("op:add:i32", False, tried(Outcome.PASSED)),
        Support("op:full", True, tried(Outcome.PASSED)),
    )

    page = render(Survey("mine", DEVICES, {"gpu:0": "no driver"}, words))

    assert "# What mine supports on cpu:0, npu:0" in page
    assert "* gpu:0 was not there: no driver" in page
    assert "| `op:add:f32` | `ops/x` | why \\| what |" in page
    assert "| operator | i32 | f32 | any |\n|---|---|---|---|\n| `add` | + | ✘ |  |" in page
    assert "| `full` |  |  | ✔ |" in page
    assert "| `construct:if` | ✔ declared and works |" in page


@pytest.mark.parametrize(
    ("outcome", "missing", "code"),
    [
        (Outcome.PASSED, {}, 0),
        (Outcome.PASSED, {"npu:0": "unplugged"}, 6),
        (Outcome.FAILED, {"npu:0": "unplugged"}, 1),
    ],
)
def test_the_exit_code_is_the_worst(outcome: Outcome, missing: dict[str, str], code: int) -> None:
    words = (Support("op:x", True, tried(outcome)),)

    assert Survey("mine", DEVICES, missing, words).exit_code == code


def test_wider_claims_take_nothing_away() -> None:
    assert widened(frozenset({"op:*", "-op:det", "-dtype:f16", "-construct:if"})) == {
        *("op:*", "dtype:*", "-construct:if"),
    }


def test_a_backend_with_options_is_widened_too() -> None:
    name = name_of("tests.unit.hettest.backend.test_naming:Choosy:threads=4,provider=a")

    assert name.count(":") == 2
    assert isinstance(Widened(name.partition("of=")[2]).inner, object)
    assert Widened(name.partition("of=")[2]).name == "choosy"


def test_the_command_prints_what_fails_and_writes_the_page(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = tmp_path / "support.md"
    options = (f"--cases={corpus}", "--devices=cpu,npu", f"--out={page}")

    ended = hettest(monkeypatch, "probe", DECLARES, *options)

    lines = capsys.readouterr().out.splitlines()
    assert ended == 1
    assert lines[0].startswith("op:multiply:f32: declared and fails: ops/multiply/small[plain,")
    assert lines[0].endswith("NotImplementedError: no such kernel")
    assert "op:add: works but not declared for i32" in lines
    assert lines[-1] == (
        f"{DECLARES}: 8 words: 2 declared and works, 1 declared and fails, "
        "1 works but not declared, 3 neither declared nor working, 1 not tested"
    )
    assert page.read_text(encoding="utf-8").startswith(f"# What {DECLARES} supports on")


def test_the_command_prints_json_and_says_what_is_missing(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = "tests.unit.hettest.fake_backend:Backend"
    options = (f"--cases={corpus}", "--devices=cpu,cuda", "--json")

    ended = hettest(monkeypatch, "probe", backend, *options)

    told = json.loads(capsys.readouterr().out)
    assert ended == 6
    assert told["missing"] == {"cuda:0": "no driver: libfake.so.1 was not found"}
    assert {word["colour"] for word in told["words"]} == {"declared and works"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nobody",), "found no backend nobody"),
        ((DECLARES, "--out=support.txt"), "the name must end in .md"),
        ((DECLARES, "--devices=cpu,npuu"), "no device npuu:0; did you mean npu:0?"),
        ((DECLARES, "no/such/case"), "no item matches no/such/case"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    message: str,
) -> None:
    assert hettest(monkeypatch, "probe", *args, f"--cases={corpus}") == 2
    assert message in capsys.readouterr().err
