"""What was asked of earlier machines and what a case has no words for: launches, files, memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.bytecode.disassembler import disassemble
from reference_vm.bytecode.instructions import AllocStorage, Copy, Launch, View
from tests.unit.native.both import bits, renamed
from tests.unit.session.in_use import in_use
from tests.unit.session.test_failures import failure

EXECUTORS: Final = pytest.mark.parametrize("interpreter", [False, True], ids=["native", "read"])
MAPS: Final = ("host=cpu:0,accel=cpu:0", "host=cpu:0,accel=sim:0", "host=sim:1,accel=sim:0")


def f32(*shape: int) -> Any:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def program(
    functions: str, devices: str | Mapping[str, str] = MAPS[1], **options: Any
) -> rv.Program:
    text = f"module {{\n  vdevice @host, @accel\n  {functions}\n}}"
    return rv.compile(rv.parse(text, "scenario.hir"), devices, check=True, **options)


@EXECUTORS
def test_a_function_that_returns_its_argument_launches_nothing(interpreter: bool) -> None:
    session = rv.Session(
        program("fn @main(%x: f32[?]) -> f32[?] { return %x }"), interpreter=interpreter
    )
    x = f32(5)

    found = session.run("main", x)

    np.testing.assert_array_equal(found, x)
    assert not np.shares_memory(found, x)
    assert [r.op for r in session.trace if r.kind in ("kernel", "library", "copy")] == []


@EXECUTORS
@pytest.mark.parametrize(
    ("params", "right", "wrong"),
    [
        (("f32[?]", "f32[3, 2]"), (f32(2), f32(3, 2)), (f32(1), f32(4, 2))),
        (("f32[?, 2]", "f32[3, 2]"), (f32(3, 2), f32(3, 2)), (f32(4, 2), f32(4, 2))),
        (("f32[?, 2]", "f32[3, ?]"), (f32(1, 2), f32(3, 1)), (f32(1, 2), f32(4, 1))),
        (("f32[?, ?]", "f32[3, 3]"), (f32(1, 3), f32(3, 3)), (f32(2, 3), f32(3, 3))),
        (("f32[?]", "f32[3, 2]"), (f32(1), f32(3, 2)), (f32(2), f32(4, 2))),
    ],
)
def test_sizes_that_contradict_are_an_error_each_time(
    params: Sequence[str], right: tuple[Any, ...], wrong: tuple[Any, ...], interpreter: bool
) -> None:
    one, other = params
    text = f"fn @main(%x: {one}, %y: {other}) -> f32[?, ?] {{ %r = add(%x, %y) @accel return %r }}"
    session = rv.Session(program(text), interpreter=interpreter)
    for _ in range(2):
        found = failure(lambda: session.run("main", *wrong))
        assert found.code in ("argument-shape", "shape-mismatch")
        np.testing.assert_array_equal(session.run("main", *right), right[0] + right[1])
    assert in_use(session) == {"cpu:0": 0, "sim:0": 0}


def test_a_call_in_a_call_is_no_program() -> None:
    with pytest.raises(rv.CompileError, match="syntax-error"):
        program("fn @main(%x: f32[2]) -> f32[2] { %y = exp(add(%x, %x)) return %y }")


def test_sizes_that_can_never_fit_are_refused_before_they_run() -> None:
    with pytest.raises(rv.CompileError, match="shape-mismatch"):
        program(
            "fn @main(%x: f32[?, 2], %y: f32[3, 3]) -> f32[3, ?] { %r = add(%x, %y) return %r }"
        )


@pytest.mark.parametrize(
    ("to", "params", "views"),
    [
        (("const i64[1] [24]",), "%x: f32[2, 3, 4]", 1),
        (("const i64[2] [6, 4]", "const i64[3] [2, 3, 4]"), "%x: f32[2, 3, 4]", 1),
        (("const i64[1] [-1]", "const i64[2] [-1, 4]"), "%x: f32[n, 4]", 1),
        (("const i64[2] [6, 4]", "%t"), "%x: f32[2, 3, 4], %t: i64[2]", 2),
    ],
    ids=["one", "there-and-back", "symbolic", "told-by-the-run"],
)
def test_reshapes_to_what_is_said_are_one_instruction_and_move_nothing(
    to: Sequence[str], params: str, views: int
) -> None:
    lines = [
        f"%t{i} = {one} %x{i} = reshape(%x{i - 1 or ''}, %t{i})" for i, one in enumerate(to, 1)
    ]
    body = f"{' '.join(lines)} %r = %x{len(to)}"
    compiled = program(f"fn @main({params}) -> f32[...] {{ {body} return %r }}")
    (code,) = compiled.executable.functions
    kinds = [type(i) for i in code.instructions]

    assert kinds.count(View) == views
    assert Copy not in kinds
    assert Launch not in kinds


@pytest.mark.parametrize(
    ("type_", "size"),
    [("f32[]", 4), ("bool[5]", 5), ("i8[7]", 7), ("f16[3]", 6), ("bf16[3]", 6), ("f64[2, 3]", 48)],
)
def test_a_storage_is_as_large_as_its_elements(type_: str, size: int) -> None:
    text = f"fn @main(%c: bool[], %x: {type_}, %y: {type_}) -> {type_} @host {{"
    compiled = program(f"{text} %a = where(%c, %x, %y) @host return %a }}")
    (code,) = compiled.executable.functions

    sizes = {i.size for i in code.instructions if isinstance(i, AllocStorage)}

    assert sizes == {size}


def test_tensors_that_share_a_storage_lie_at_aligned_places() -> None:
    compiled = program(
        "fn @main(%x: f32[3], %y: f32[21], %z: f32[7]) -> f32[31] {"
        " %a = negative(%x) @accel %b = negative(%y) @accel %c = negative(%z) @accel"
        " %r = concat(%a, %b, %c, axis = 0) @accel return %r }",
        fuse=False,
    )
    (code,) = compiled.executable.functions
    launches = [i for i in code.instructions if isinstance(i, Launch)]
    offsets = [target.offset for launch in launches for target in launch.targets]

    assert len(offsets) == 4
    assert any(offsets)
    assert [o for o in offsets if not isinstance(o, int) or o % 64] == []


def test_what_says_where_devices_are_stays_the_callers() -> None:
    devices = {"accel": "sim:1"}

    compiled = program("fn @main(%x: f32[2]) -> f32[2] { %y = exp(%x) @accel return %y }", devices)

    assert devices == {"accel": "sim:1"}
    assert [str(d) for d in compiled.executable.devices] == ["cpu:0", "sim:1"]


def test_a_constant_is_reshaped_to_what_the_run_says() -> None:
    compiled = program(
        "fn @main(%x: f32[?, ?]) -> f32[?, ?] @host {"
        " %c = const f32[6] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] %s = shape_of(%x)"
        " %r = reshape(%c, %s) %y = add(%r, %x) @accel return %y }"
    )

    found = rv.Session(compiled).run("main", f32(2, 3))

    np.testing.assert_array_equal(found, f32(2, 3) * 2 + 1)


def test_bytecode_in_words_has_each_function_and_each_kernel_by_its_operators() -> None:
    compiled = program(
        "fn @main(%n: i64[], %x: f32[4]) -> f32[4] attrs { entry = true } {"
        " %a = @f1(%n, %x) %b = @f2(%n, %a) %c = @f1(%n, %b) %d = @f2(%n, %c) return %d }\n"
        "fn @f1(%n: i64[], %p: f32[4]) -> f32[4] { %r = if %n { %one = const i64[] 1"
        " %m = subtract(%n, %one) %q = exp(%p) %s = negative(%q) %t = @f1(%m, %s) yield %t }"
        " else { yield %p } return %r }\n"
        "fn @f2(%n: i64[], %u: f32[4]) -> f32[4] { %r = if %n { %one = const i64[] 1"
        " %m = subtract(%n, %one) %w = multiply(%u, %u) %o = abs(%w) %t = @f2(%m, %o) yield %t }"
        " else { yield %u } return %r }"
    )

    lines = disassemble(compiled.executable).splitlines()

    headers = [line for line in lines if line.startswith("fn @")]
    assert {h.partition("(")[0] for h in headers} == {"fn @main", "fn @f1", "fn @f2"}
    assert all("r0: i64[]" in h and "r1: f32[4]" in h for h in headers)
    assert any("launch fused_exp_negative(" in line for line in lines)
    assert any("launch fused_multiply_abs(" in line for line in lines)


@final
@dataclass(frozen=True)
class Saved:
    """A program to be saved, with arguments of its entry ``main``."""

    functions: str
    args: tuple[Any, ...]


LIST: Final = "type List[T] { Nil, Cons(T, List[T]) }\n"
SAVED: Final = {
    "sum": Saved("fn @main(%x: f32[4]) -> f32[4] { %r = add(%x, %x) @accel return %r }", (f32(4),)),
    "constant": Saved(
        "fn @main(%x: f32[2]) -> f32[2] {"
        " %c = const f32[2] [0.5, -1.5] %r = multiply(%x, %c) @accel return %r }",
        (f32(2),),
    ),
    "branch": Saved(
        "fn @main(%c: bool[], %x: f32[2]) -> f32[2] {"
        " %r = if %c { %a = exp(%x) @accel yield %a } else { yield %x } return %r }",
        (np.array(True), f32(2)),
    ),
    "loop": Saved(
        "fn @main(%n: i64[], %x: f32[2]) -> f32[2] attrs { entry = true } { %r = if %n {"
        " %one = const i64[] 1 %m = subtract(%n, %one) %y = add(%x, %x) @accel"
        " %q = @main(%m, %y) yield %q } else { yield %x } return %r }",
        (np.array(7), f32(2)),
    ),
    "tuple": Saved(
        "fn @main(%t: (f32[2], (f32[3], f32[2]))) -> ((f32[2], f32[3]), f32[2]) {"
        " %a = %t[0] %u = %t[1] %b = %u[0] %c = %u[1] %s = subtract(%a, %c) @accel"
        " %p = (%s, %b) %r = (%p, %a) return %r }",
        ((f32(2), (f32(3), f32(2) + 3)),),
    ),
    "list": Saved(
        f"{LIST}fn @main(%l: List[f32[n]]) -> List[f32[n]] attrs {{ entry = true }} {{"
        " %r = match %l { Nil => { yield %l } Cons(%h, %t) => {"
        " %n = negative(%h) @accel %u = @main(%t) %c = Cons(%n, %u) yield %c } } return %r }",
        (("Cons", f32(2), ("Cons", f32(2) + 1, ("Nil",))),),
    ),
    "composition": Saved(
        "type Fns { End, Step((f32[2]) -> f32[2], Fns) }\n"
        "fn @all(%f: Fns, %x: f32[2]) -> f32[2] { %r = match %f { End => { yield %x }"
        " Step(%g, %more) => { %y = %g(%x) %z = @all(%more, %y) yield %z } } return %r }\n"
        "fn @main(%x: f32[2]) -> f32[2] attrs { entry = true } {"
        " %g = fn (%a: f32[2]) -> f32[2] { %b = add(%a, %x) @accel return %b }"
        " %h = fn (%c: f32[2]) -> f32[2] { %d = multiply(%c, %c) return %d }"
        " %e = End() %s = Step(%h, %e) %t = Step(%g, %s) %r = @all(%t, %x) return %r }",
        (f32(2) + 1,),
    ),
    "closure": Saved(
        "fn @twice(%f: (f32[2]) -> f32[2], %x: f32[2]) -> f32[2] {"
        " %y = %f(%x) %z = %f(%y) return %z }\n"
        "fn @main(%k: f32[], %x: f32[2]) -> f32[2] attrs { entry = true } {"
        " %f = fn (%a: f32[2]) -> f32[2] { %b = multiply(%a, %k) @accel return %b }"
        " %r = @twice(%f, %x) return %r }",
        (np.float32(3).reshape(()), f32(2)),
    ),
    "shape": Saved(
        "fn @main(%x: f32[?, 3]) -> i64[2] {"
        " %s = shape_of(%x) %r = shape_to_tensor(%s) return %r }",
        (f32(4, 3),),
    ),
    "broadcast": Saved(
        "fn @main(%x: f32[?, ?], %y: f32[?]) -> f32[?, ?] { %r = add(%x, %y) @accel return %r }",
        (f32(3, 1), f32(4)),
    ),
}
"""One of each kind of program that a file has to bring back."""


@pytest.mark.parametrize("devices", MAPS)
@pytest.mark.parametrize("name", SAVED)
def test_a_saved_program_of_each_kind_runs_as_before(
    name: str, devices: str, tmp_path: Path
) -> None:
    saved = SAVED[name]
    before = program(saved.functions, devices)
    before.save(tmp_path / "a.rvm")
    after = rv.load(tmp_path / "a.rvm", check=True)
    after.save(tmp_path / "b.rvm")

    sessions = (rv.Session(before), rv.Session(after), rv.Session(after, interpreter=True))
    found = [bits(session.run("main", *saved.args)) for session in sessions]
    traces = [renamed(session.trace) for session in sessions]

    assert found[0] == found[1] == found[2]
    assert traces[0] == traces[1] == traces[2]
    assert (tmp_path / "a.rvm").read_bytes() == (tmp_path / "b.rvm").read_bytes()


PLACED_APART: Final = (
    "fn @main(%x: f32[8]) -> (f32[], i64[]) {"
    " %y = max(%x) @accel %i = argmax(%x, axis = 0) @host %r = (%y, %i) return %r }"
)


def test_a_program_of_two_devices_is_loaded_with_both_or_names_the_one_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reference_vm.devices import catalog

    x = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.float32)
    before = program(PLACED_APART)
    before.save(tmp_path / "a.rvm")

    loaded = rv.load(tmp_path / "a.rvm")
    assert bits(rv.Session(loaded).run("main", x)) == bits(rv.Session(before).run("main", x))
    assert [v.item() for v in rv.Session(loaded).run("main", x)] == [9.0, 5]

    here = {name: kind for name, kind in catalog.KINDS.items() if name != "sim"}
    monkeypatch.setattr(catalog, "KINDS", here)
    with pytest.raises(rv.CompileError, match=r"sim:0, which is @accel, is not available"):
        rv.Session(rv.load(tmp_path / "a.rvm"))


@EXECUTORS
def test_one_array_given_twice_and_donated_once_is_a_result_or_an_error(interpreter: bool) -> None:
    session = rv.Session(
        program(
            "fn @main(%x: f32[10] donate, %y: f32[10]) -> f32[10] {"
            " %r = add(%x, %y) @accel return %r }"
        ),
        interpreter=interpreter,
    )
    b = np.zeros(10, np.float32)

    np.testing.assert_array_equal(session.run("main", b, b), b)

    put = session.put(b, "cpu:0")
    assert "the array is donated" in str(failure(lambda: session.run("main", put, put)).message)
    np.testing.assert_array_equal(session.run("main", b + 1, put), b + 1)
    np.testing.assert_array_equal(b, np.zeros(10))


UPDATED_TWICE: Final = (
    "fn @main(%p: f32[64, 8] donate, %i: i64[8, 64], %u: f32[8, 64], %g: f32[8, 8]) -> f32[64, 8] {"
    " %t = permute_dims(%p, axes = [1, 0])"
    ' %s = scatter_elements(%t, %i, %u, axis = 1, reduction = "add")'
    " %sparse = permute_dims(%s, axes = [1, 0]) %dense = matmul(%p, %g)"
    " %r = add(%sparse, %dense) return %r }"
)


@EXECUTORS
def test_two_updates_of_one_parameter_are_the_same_a_hundred_times(interpreter: bool) -> None:
    session = rv.Session(program(UPDATED_TWICE), interpreter=interpreter)
    rng = np.random.default_rng(5)
    i = rng.integers(0, 64, (8, 64))
    p, u, g = (rng.integers(-9, 9, s).astype(np.float32) for s in ((64, 8), (8, 64), (8, 8)))
    expected = p.T.copy()
    np.add.at(expected, (np.arange(8)[:, None], i), u)

    found = {session.run("main", p, i, u, g).tobytes() for _ in range(100)}

    assert found == {(expected.T + p @ g).tobytes()}
