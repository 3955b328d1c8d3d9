"""Backends that break the case format, each word of it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

import numpy as np

from hettest.backend.protocol import Copy, Observation, Options, Rejected
from hettest.language import Module, nodes
from hettest.outcome import Outcome
from tests.mutants.mutant import honest_run, only_reporting
from tests.mutants.programs import calls, rewriting
from tests.unit.hettest.case.written import text

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


def _observing(**changes: Callable[[Any], Any]) -> Mapping[str, Any]:
    """Return a backend that shows something else than it did, and is known by its report alone."""

    def show(module: Module, device_map: Mapping[str, str], seen: Observation) -> Observation:
        return replace(
            seen, **{name: change(getattr(seen, name)) for name, change in changes.items()}
        )

    return {"observation": show, "claims": only_reporting}


def _with(extra: Copy) -> Mapping[str, Any]:
    return _observing(copies=lambda copies: (*copies, extra))


def _without(cause: str) -> Mapping[str, Any]:
    return _observing(copies=lambda copies: [c for c in copies if c.cause != cause])


def _resized(factor: float) -> Mapping[str, Any]:
    return _observing(
        copies=lambda cs: [replace(c, bytes=int((c.bytes or 0) * factor)) for c in cs]
    )


def _read(value: str) -> Copy:
    return Copy("cpu:0", "sim:0", value, 16, "read", "main/%s")


def _argument(value: str) -> Copy:
    return Copy("cpu:0", "sim:0", value, 16, "argument")


WRONG: Final = _observing(results=_one_more)
UNSIGNED: Final = _observing(
    results=lambda value: np.where(value == 0, np.zeros_like(value), value)
)


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


def _other_code(executable: Any, entry: str, args: Sequence[Any]) -> Observation:
    try:
        return honest_run(executable, entry, args)
    except Rejected as found:
        raise Rejected(found.stage, "overflow", found.line) from None


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
            _observing(executions=_on_accelerator),
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
            _observing(results=lambda v: (v * (1 + 2.0**-19)).astype(v.dtype)),
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
            _observing(results=lambda value: value.astype(np.float32)),
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
