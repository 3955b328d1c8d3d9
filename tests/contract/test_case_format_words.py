"""Each word of the case format is held to: a backend that breaks it alone fails by its clause.

The words are those of the schema, so that one without a backend that breaks it is found. Words that
ask nothing of a backend are shown to stand in what reports say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pytest

from hettest.backend.protocol import Copy, Observation, Options, Rejected
from hettest.case.expansion import Item, expand
from hettest.case.model import Case
from hettest.case.schema import SCHEMA
from hettest.errors import CaseError
from hettest.language import Module, nodes
from hettest.levels.coverage import Published, coverage
from hettest.outcome import Outcome, Record, Status
from hettest.runner.run import Environment, run_item
from tests.mutants.mutant import PAIR, Mutant, honest_run, only_reporting
from tests.mutants.programs import calls, rewriting
from tests.unit.hettest.case.written import load_text, text

PLANNED: Final = """module {
  vdevice @host, @accel
  fn @main(%a: f32[4], %b: f32[4]) -> f32[4] @host {
    %s = add(%a, %b)  @accel
    %t = negative(%s)
    return %t
  }
}
"""
ENDS: Final = """[[run]]
name   = "plain"
args.a = { dtype = "f32", shape = [4], data = [1, 2, 3, 4] }
args.b = { dtype = "f32", shape = [4], data = [1, 1, 1, 1] }
result = { dtype = "f32", shape = [4], data = [-2, -3, -4, -5] }
"""
PULLED: Final = """module {
  vdevice @host, @accel
  fn @main(%a: f32[4] @host) -> f32[4] @accel {
    %t = negative(%a)
    return %t
  }
}
"""
MOVED: Final = """module {
  fn @main(%x: f32[4]) -> f32[4] {
    %r = abs(%x)
    return %r
  }
}
"""
ONE: Final = """[[run]]
name   = "plain"
args.x = { dtype = "f32", shape = [4], data = [1, 2, 3, 4] }
result = { dtype = "f32", shape = [4], data = [1, 2, 3, 4] }
"""
A: Final = """[[run]]
name   = "plain"
args.a = { dtype = "f32", shape = [4], data = [1, 2, 3, 4] }
result = { dtype = "f32", shape = [4], data = [-1, -2, -3, -4] }
"""


@final
@dataclass(frozen=True)
class Word:
    """A word in a case, and a backend that breaks nothing else."""

    case: str
    broken: Mapping[str, Any]
    """What is different in the backend, as of a `Mutant`."""

    by: str
    """The clause that fails; the outcome's name where it ends outside them."""

    item: str = ""
    """Stands in the id of the item; otherwise the first."""

    honest: Outcome = field(default=Outcome.PASSED)


def _one_more(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_one_more, value))
    if value.dtype == np.bool_:
        return ~value
    return (value + 1).astype(value.dtype)


def _seen(**changes: Callable[[Any], Any]) -> Mapping[str, Any]:
    """Return a backend that shows something else than it did, and is known by its report alone."""

    def show(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
        return replace(
            seen, **{name: change(getattr(seen, name)) for name, change in changes.items()}
        )

    return {"observation": show, "claims": only_reporting}


def _with(extra: Copy) -> Mapping[str, Any]:
    return _seen(copies=lambda copies: (*copies, extra))


def _without(cause: str) -> Mapping[str, Any]:
    return _seen(copies=lambda copies: [c for c in copies if c.cause != cause])


def _resized(factor: float) -> Mapping[str, Any]:
    return _seen(copies=lambda cs: [replace(c, bytes=int((c.bytes or 0) * factor)) for c in cs])


def _read(value: str) -> Copy:
    return Copy("cpu:0", "sim:0", value, 16, "read", "main/%s")


def _argument(value: str) -> Copy:
    return Copy("cpu:0", "sim:0", value, 16, "argument")


WRONG: Final = _seen(results=_one_more)
UNSIGNED: Final = _seen(results=lambda value: np.where(value == 0, np.zeros_like(value), value))


def _tensor(written: str, expected: str, dtype: str = "f32", shape: str = "[4]") -> Word:
    """Return a word of tensors: what is written so arrives as ``expected``."""
    program = MOVED.replace("f32[4]", f"{dtype}{shape}")
    head = f'dtype = "{dtype}", shape = {shape}'
    run = f"args.x = {{ {head}, {written} }}\nresult = {{ {head}, data = {expected} }}\n"
    return Word(text(program, f'[[run]]\nname = "plain"\n{run}'), {"runner": _other_args}, "values")


def _other_args() -> Callable[..., Observation]:
    def run(executable: Any, entry: str, args: Sequence[Any]) -> Observation:
        return honest_run(executable, entry, [_one_more(arg) for arg in args])

    return run


def _entry_main() -> Callable[..., Observation]:
    return lambda executable, entry, args: honest_run(executable, "main", args)


def _first_again() -> Callable[..., Observation]:
    made: list[Observation] = []

    def run(executable: Any, entry: str, args: Sequence[Any]) -> Observation:
        made.append(honest_run(executable, entry, args))
        return made[0]

    return run


def _writes_to_earlier() -> Callable[..., Observation]:
    made: list[Observation] = []

    def run(executable: Any, entry: str, args: Sequence[Any]) -> Observation:
        found = honest_run(executable, entry, args)
        for earlier in made:
            earlier.results[...] = 0  # type: ignore[index]
        made.append(replace(found, results=np.array(found.results)))
        return made[-1]

    return run


def _forgives() -> Callable[..., Observation]:
    def run(executable: Any, entry: str, args: Sequence[Any]) -> Observation:
        try:
            return honest_run(executable, entry, args)
        except Rejected:
            return honest_run(executable, entry, [args[0], np.zeros_like(args[1])])

    return run


def _negated(binding: nodes.Binding) -> Iterator[nodes.Binding]:
    if calls(binding, "add"):
        value = binding.value
        assert isinstance(value, nodes.Call)
        yield replace(binding, value=replace(value, op="subtract"))
    else:
        yield binding


def _on_accelerator(executions: Any) -> Any:
    return [replace(e, device="sim:0") for e in executions]


def _exchanged(device_map: Mapping[str, str]) -> Mapping[str, str]:
    return dict(zip(device_map, reversed(tuple(device_map.values())), strict=True))


def _host_alone(device_map: Mapping[str, str]) -> Mapping[str, str]:
    return dict.fromkeys(device_map, "cpu:0")


def _copying(options: Options) -> Options:
    return replace(options, policy="copy")


def _on_host(options: Options) -> Options:
    return replace(options, default="cpu:0")


def _limited(table: str, key: str, value: int | str) -> str:
    return text(PLANNED, ENDS, tail=f"[expect.{table}]\n{key} = {value}\n")


def _bytes(table: str, key: str, value: int) -> str:
    return text(PLANNED, ENDS, tail=f"[expect.{table}]\nbytes = {{ {key} = {value} }}\n")


def _exactly(table: str, number: int) -> str:
    return text(tail=f"[expect.{table}]\nexact = {number}\n")


ERROR: Final = """module {
  fn @main(%x: i64[3], %i: i64[2]) -> i64[2] {
    %r = take(%x, %i, axis = 0)  //~ index-out-of-range
    return %r
  }
}
"""
OUT: Final = """[[run]]
name = "out"
args.x = { dtype = "i64", shape = [3], data = [1, 2, 3] }
args.i = { dtype = "i64", shape = [2], data = [0, 7] }
error = "index-out-of-range"
"""
UNBOUND: Final = PULLED.replace(" -> f32[4] @accel", " -> f32[4]").replace(
    "negative(%a)", "negative(%a)  @accel  //~ unbound-role"
)
TWICE: Final = ONE + ONE.replace('"plain"', '"again"\nafter = "plain"').replace(
    "[1, 2, 3, 4]", "[5, 6, 7, 8]"
)
OTHER: Final = MOVED.replace(
    "\n}\n", "\n  fn @other(%x: f32[4]) -> f32[4] {\n    %q = negative(%x)\n    return %q\n  }\n}\n"
)
ZEROS: Final = """[[run]]
name   = "plain"
args.x = { dtype = "f32", shape = [4], data = [0.0, 1, 2, 3] }
result = { dtype = "f32", shape = [4], data = [-0.0, -1, -2, -3] }
"""
NEGATIVE: Final = MOVED.replace("abs", "negative")
SIGNED: Final = "[expect.values]\nsigned-zeros = true\n"
LOOSE: Final = '[expect.values]\nulps = 4\nreason = "the last digits are open"\n'
ERRORS: Final = """module {
  vdevice @host, @accel
  fn @main(%a: f32[4], %b: f32[4]) -> f32[4] @host {
    %s = add(%a, %b)  @host
    %t = negative(%a)  @accel  //~ value-on-two-devices
    %d = add(%s, %t)  @host
    return %d
  }
}
"""

WORDS: Final[Mapping[str, tuple[Word, ...]]] = {
    "program": (Word(text(), {"module": rewriting(_negated)}, "values"),),
    "run": (Word(text(), WRONG, "values"),),
    "run.entry": (
        Word(
            text(
                OTHER,
                ONE.replace('"plain"', '"plain"\nentry = "other"').replace(
                    'result = { dtype = "f32", shape = [4], data = [1, 2, 3, 4] }',
                    'result = { dtype = "f32", shape = [4], data = [-1, -2, -3, -4] }',
                ),
            ),
            {"runner": _entry_main},
            "values",
        ),
    ),
    "run.args": (Word(text(MOVED, ONE), {"runner": _other_args}, "values"),),
    "run.after": (
        Word(text(MOVED, TWICE), {"runner": _first_again}, "values", "[again"),
        Word(text(MOVED, TWICE), {"runner": _writes_to_earlier}, "arguments", "[again"),
    ),
    "run.result": (
        Word(text(MOVED, ONE), WRONG, "values"),
        Word(
            text(
                MOVED,
                ONE.replace(
                    'result = { dtype = "f32", shape = [4], data = [1, 2, 3, 4] }',
                    'result = "oracle"',
                ),
            ),
            WRONG,
            "values",
        ),
    ),
    "run.error": (
        Word(text(ERROR, OUT), {"runner": _forgives}, "diagnostics"),
        Word(
            text(ERROR, OUT),
            {"running": (), "refusal": lambda r: r, "runner": lambda: _other_code},
            "diagnostics",
        ),
    ),
    "run.advisory": (
        Word(
            text(MOVED, ONE.replace('"plain"', '"plain"\nadvisory = "only we say what it is"')),
            WRONG,
            "values",
        ),
    ),
    "expect.placement": (
        Word(
            text(PULLED, A, tail='[expect.placement]\nt = "host"\n'),
            _seen(executions=_on_accelerator),
            "placement",
        ),
    ),
    "expect.copies.exact": (Word(_exactly("copies", 3), _with(_read("main/%s")), "copies"),),
    "expect.copies.at-most": (
        Word(_limited("copies", "at-most", 1), _with(_read("main/%a")), "copies"),
        Word(_limited("copies", "at-most", "{ copy = 1 }"), _with(_read("main/%a")), "copies"),
    ),
    "expect.copies.at-least": (
        Word(_limited("copies", "at-least", 1), _without("read"), "copies"),
    ),
    "expect.copies.bytes.at-most": (Word(_bytes("copies", "at-most", 16), _resized(2), "copies"),),
    "expect.copies.bytes.at-least": (
        Word(_bytes("copies", "at-least", 16), _resized(0.5), "copies"),
    ),
    "expect.copies.bytes.exact": (
        Word(text(tail="[expect.copies]\nbytes = { exact = 48 }\n"), _resized(0.5), "copies"),
        Word(text(tail="[expect.copies]\nbytes = { exact = 48 }\n"), _resized(2), "copies"),
    ),
    "expect.moved.exact": (Word(_exactly("moved", 3), _with(_argument("main/%a")), "moved"),),
    "expect.moved.at-most": (
        Word(_limited("moved", "at-most", 3), _with(_argument("main/%a")), "moved"),
    ),
    "expect.moved.at-least": (
        Word(_limited("moved", "at-least", 3), _without("argument"), "moved"),
    ),
    "expect.moved.bytes.at-most": (Word(_bytes("moved", "at-most", 48), _resized(2), "moved"),),
    "expect.moved.bytes.at-least": (Word(_bytes("moved", "at-least", 48), _resized(0.5), "moved"),),
    "expect.moved.bytes.exact": (
        Word(text(tail="[expect.moved]\nbytes = { exact = 48 }\n"), _resized(0.5), "moved"),
    ),
    "expect.values.ulps": (
        Word(
            text(MOVED, ONE, tail=LOOSE),
            _seen(results=lambda v: (v * (1 + 2.0**-19)).astype(v.dtype)),
            "values",
        ),
    ),
    "expect.values.signed-zeros": (
        Word(text(NEGATIVE, ZEROS, tail=SIGNED), UNSIGNED, "values"),
        Word(text(NEGATIVE, ZEROS, tail=SIGNED + LOOSE.partition("\n")[2]), UNSIGNED, "values"),
        Word(
            text(
                NEGATIVE,
                ZEROS.replace(ZEROS.splitlines()[3], 'result = "oracle"'),
                tail=SIGNED,
            ),
            UNSIGNED,
            "values",
        ),
    ),
    "requires": (
        Word(
            text(head='requires = ["distinct-devices", "observe:memory"]'),
            {"claims": lambda claims: claims | {"-observe:memory"}},
            "unsupported",
        ),
    ),
    "policies": (
        Word(
            text(head='policies = ["replicate"]'),
            {"options": _copying},
            "copies",
            "policy=replicate",
        ),
        Word(
            text(ERRORS, "", head='policies = ["error"]'),
            {"options": _copying},
            "diagnostics",
            "policy=error",
        ),
    ),
    "bind": (
        Word(text(head='bind = "host-first"'), {"device_map": _exchanged}, "placement"),
        Word(
            text(head='bind = "every"'),
            {"device_map": _host_alone},
            "placement",
            "host=sim:0,accel=cpu:0",
        ),
        Word(
            text(head='bind = "one-device"'),
            {"device_map": _host_alone},
            "placement",
            "host=sim:0,accel=sim:0",
        ),
    ),
    "default": (
        Word(
            text(MOVED.replace("  fn", "  vdevice @host, @accel\n  fn"), ONE, 'default = "accel"'),
            {"options": _on_host},
            "placement",
        ),
    ),
    "unbound": (
        Word(
            text(UNBOUND, "", 'unbound = ["accel"]'),
            {"device_map": lambda found: {**found, "accel": "sim:0"}},
            "diagnostics",
        ),
    ),
    "sweep": (
        Word(
            text(
                MOVED.replace("f32", "${dtype}"),
                ONE.replace("f32", "${dtype}"),
                tail='[sweep]\ndtype = ["f32", "f64"]\n',
            ),
            _seen(results=lambda value: value.astype(np.float32)),
            "values",
            "dtype=f64",
        ),
    ),
    "tensor.dtype": (_tensor("data = [1, 2, 3, 4]", "[1, 2, 3, 4]", "i16"),),
    "tensor.shape": (_tensor("data = [1, 2, 3, 4]", "[1, 2, 3, 4]", shape="[2, 2]"),),
    "tensor.data": (_tensor("data = [1, 2.5, 3, inf]", "[1, 2.5, 3, inf]"),),
    "tensor.hex": (_tensor('hex = "0000803f000000400000404000008040"', "[1, 2, 3, 4]"),),
    "tensor.file": (_tensor('file = "input.npy"', "[1, 2, 3, 4]"),),
    "tensor.fill": (_tensor("fill = 7", "[7, 7, 7, 7]"),),
    "tensor.cycle": (_tensor('cycle = "edges"', "[0.5, 2.5, 0, 0]"),),
    "tensor.random": (_tensor("random = { seed = 7, low = 3, high = 3 }", "[3, 3, 3, 3]", "i32"),),
}
"""The backends that break each word."""

TOLD: Final = {
    *("format", "summary", "level", "clauses", "origin", "fault", "run.name"),
    *("expect.values.reason", "tensor.random.seed", "tensor.random.low", "tensor.random.high"),
}
"""Words that ask nothing of a backend by themselves; each has a test below."""

TABLES: Final = {"expect", "expect.copies", "expect.moved", "expect.values", "run.args"}
"""Tables, whose keys are words."""


def _other_code(executable: Any, entry: str, args: Sequence[Any]) -> Observation:
    try:
        return honest_run(executable, entry, args)
    except Rejected as found:
        raise Rejected(found.stage, "overflow", found.line) from None


def words(schema: Mapping[str, Any], part: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield each word that a part of the schema has, with those above it."""
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    for name, inner in part.get("properties", {}).items():
        yield f"{above}{name}"
        target = inner.get("items", inner)
        if target.get("$ref", "").rpartition("/")[2] not in ("value", "limit", "policy", "count"):
            yield from words(schema, target, f"{above}{name}.")


def every_word() -> set[str]:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    tensor = words(schema, schema["$defs"]["tensor"], "tensor.")
    return {*words(schema, schema), *tensor}


def _item(folder: Path, word: Word) -> Item:
    np.save(_made(folder / "area") / "input.npy", np.array([1, 2, 3, 4], np.float32))
    cases: tuple[Case, ...] = load_text(folder, word.case)
    items = [item for case in cases for item in expand(case, PAIR)]
    return next(item for item in items if word.item in item.id)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _ended(item: Item, **changes: Any) -> Record:
    backend = Mutant(name="broken", breaks="one word", kills=(), **changes).backend()
    return run_item(item, Environment(backend, backend.name, PAIR, {}))


def test_every_word_of_the_schema_is_here() -> None:
    tables = {word.rpartition(".")[0] for word in every_word()} & every_word()

    assert every_word() - set(WORDS) - TOLD - tables - TABLES == set()
    assert (set(WORDS) | TOLD) - every_word() == set()


CASES: Final = [(name, word) for name, found in WORDS.items() for word in found]
IDS: Final = [f"{name}-{number}" for name, ws in WORDS.items() for number in range(len(ws))]


@pytest.mark.parametrize(("name", "word"), CASES, ids=IDS)
def test_whoever_breaks_the_word_fails_by_its_clause(tmp_path: Path, name: str, word: Word) -> None:
    item = _item(tmp_path, word)
    honest = _ended(item)
    assert honest.outcome is word.honest, honest.text

    broken = _ended(item, **word.broken)

    if word.by == "unsupported":
        assert broken.outcome is Outcome.UNSUPPORTED
        return
    assert broken.outcome is Outcome.FAILED, broken.text or broken.reason
    assert word.by in {c.name for c in broken.clauses if c.status is Status.FAILED}, broken.text


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ("seed = 7, low = -1, high = 1", "seed = 8, low = -1, high = 1"),
        ("seed = 7, low = -1, high = 1", "seed = 7, low = -2, high = 1"),
        ("seed = 7, low = -1, high = 1", "seed = 7, low = -1, high = 2"),
    ],
)
def test_each_number_of_random_elements_decides_them(
    tmp_path: Path, changed: str, wrong: str
) -> None:
    random = f'args.x = {{ dtype = "f32", shape = [4], random = {{ {changed} }} }}\n'
    same = f'result = {{ dtype = "f32", shape = [4], random = {{ {changed} }} }}\n'
    program = MOVED.replace("abs(%x)", "reshape(%x, %z)").replace(
        "    %r", "    %z = shape [4]\n    %r"
    )
    one = text(program, f'[[run]]\nname = "plain"\n{random}{same}')

    assert _ended(_item(tmp_path, Word(one, {}, ""))).outcome is Outcome.PASSED
    other = one.replace(same, same.replace(changed, wrong))
    assert _ended(_item(tmp_path, Word(other, {}, ""))).outcome is Outcome.FAILED


def test_advice_binds_only_who_claims_our_pins(tmp_path: Path) -> None:
    (word,) = WORDS["run.advisory"]
    free = {**word.broken, "claims": lambda claims: only_reporting(claims) - {"semantics:pinned"}}

    record = _ended(_item(tmp_path, word), **free)

    assert record.outcome is Outcome.PASSED
    assert Status.ADVISORY in {clause.status for clause in record.clauses}


def test_what_asks_nothing_is_told(tmp_path: Path) -> None:
    head = 'origin = "owner/repository#7"\nfault = "C07"\n'
    item = _item(tmp_path, Word(text(head=head, tail=""), {}, ""))
    record = _ended(item)
    failed = _ended(item, **WRONG)

    assert (item.case.origin, item.case.fault) == ("owner/repository#7", "C07")
    assert (record.level, record.proves) == (3, ("placement.operands",))
    assert record.id.startswith("area/name[plain,")
    assert failed.text.startswith(f"{record.id}: two operators placed apart")
    covered = coverage([record], Published(faults=("C07",), fault_of={"area/name": "C07"}))
    assert covered.faults.proven == ("C07",)
    loose = _ended(_item(tmp_path, Word(text(MOVED, ONE, tail=LOOSE), {}, "")))
    assert "since the last digits are open" in loose.clauses[0].detail


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"format: found 2, expected 1"):
        load_text(tmp_path, text().replace("format  = 1", "format  = 2"))


def test_refusals_are_compared_by_line_and_code(tmp_path: Path) -> None:
    word = Word(text(UNBOUND, "", 'unbound = ["accel"]'), {}, "")
    item = _item(tmp_path, word)

    for change in ({"code": "overflow"}, {"line": 1}):

        def other(found: Rejected, change: Mapping[str, Any] = change) -> Rejected:
            known = {"stage": found.stage, "code": found.code, "line": found.line}
            return Rejected(**{**known, **change})

        broken = _ended(item, refusal=other)
        assert [c.name for c in broken.clauses if c.status is Status.FAILED] == ["diagnostics"]


@pytest.mark.parametrize("devices", [("cpu:0",), PAIR])
@pytest.mark.parametrize("bind", ["host-first", "every", "one-device"])
def test_roles_are_bound_as_the_case_says(
    tmp_path: Path, bind: str, devices: tuple[str, ...]
) -> None:
    (case,) = load_text(tmp_path, text(head=f'bind = "{bind}"'))
    host, accel = devices[0], devices[-1]
    expected = {
        "host-first": [(host, accel)],
        "every": [(host, accel), (accel, host)] if len(devices) > 1 else [(host, host)],
        "one-device": [(device, device) for device in devices],
    }

    found = [tuple(item.binding.values()) for item in expand(case, devices)]

    assert found == expected[bind]
