"""What a session promises of every run."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.diagnostics import CompileError
from reference_vm.passes import pipeline
from reference_vm.runtime.trace import Record
from tests.unit.session.in_use import in_use

MAP = "host=cpu:0,accel=sim:0"
X = np.arange(4, dtype=np.float32)


def loaded(body: str, device_map: str = MAP, **options: Any) -> rv.Session:
    """Return the session of ``fn @main{body}``."""
    module = rv.parse(f"module {{\n  vdevice @host, @accel\n  fn @main{body}\n}}")
    return rv.Session(rv.compile(module, device_map), **options)


def of_kind(session: rv.Session, *kinds: str) -> list[Record]:
    return [record for record in session.trace if record.kind in kinds]


SHARED_INPUT = """(%a: f32[n], %b: f32[n], %c: f32[n]) -> f32[n] @host {
    %s = add(%a, %b)       @host
    %t = add(%b, %c)       @accel
    %d = subtract(%s, %t)  @host
    return %d
  }"""


def test_the_shared_input_moves_three_times_and_is_right() -> None:
    session = loaded(SHARED_INPUT)
    np.testing.assert_array_equal(session.run("main", X, X + 1, X + 2), X - (X + 2))
    moved = [
        (r.source, r.target, r.cause.kind, r.cause.value, r.bytes)
        for r in of_kind(session, "copy")
        if r.cause is not None
    ]
    assert moved == [
        ("cpu:0", "sim:0", "argument", "main/%c", 16),
        ("cpu:0", "sim:0", "read", "main/%b", 16),
        ("sim:0", "cpu:0", "read", "main/%t", 16),
    ]


def test_every_read_is_on_the_records_own_device_but_for_copies() -> None:
    session = loaded(SHARED_INPUT)
    session.run("main", X, X, X)
    for record in session.trace:
        if record.kind != "copy":
            assert {a.device for a in (*record.reads, *record.writes)} <= {record.device}


def test_records_are_numbered_in_issue_order() -> None:
    session = loaded(SHARED_INPUT)
    session.run("main", X, X, X)
    assert [r.index for r in session.trace] == list(range(len(session.trace)))


def test_copies_name_their_first_reader_and_its_line() -> None:
    session = loaded(SHARED_INPUT)
    session.run("main", X, X, X)
    (cause,) = [r.cause for r in of_kind(session, "copy") if r.cause and r.cause.kind == "read"][:1]
    assert (cause.reader, cause.line) == ("main/%t", 5)


def test_a_run_leaves_memory_as_it_found_it() -> None:
    session = loaded(SHARED_INPUT)
    for size in (4, 1000, 4):
        x = np.ones(size, np.float32)
        session.run("main", x, x, x)
        assert in_use(session) == {"cpu:0": 0, "sim:0": 0}
    assert session.memory()["sim:0"].peak == 2 * 16


def test_results_are_the_callers_own() -> None:
    session = loaded(
        "(%a: f32[4]) -> (f32[4], f32[4], f32[2, 2]) {\n"
        "%k = const f32[4] splat 1.0\n"
        "%s = const i64[2] [2, 2]\n"
        "%r = reshape(%a, %s)\n"
        "%t = (%a, %k, %r)\n return %t }"
    )
    x = X.copy()
    first = session.run("main", x)
    for result in first:
        assert not np.shares_memory(result, x)
        result[...] = -1
    same, constant, reshaped = session.run("main", x)
    np.testing.assert_array_equal(same, X)
    np.testing.assert_array_equal(constant, np.ones(4, np.float32))
    np.testing.assert_array_equal(reshaped, X.reshape(2, 2))


def test_results_of_earlier_runs_stay_valid() -> None:
    session = loaded("(%a: f32[4]) -> f32[4] @host { %b = exp(%a) @accel return %b }")
    first = session.run("main", X)
    kept = first.copy()
    session.run("main", X + 1)
    np.testing.assert_array_equal(first, kept)


def test_arguments_are_not_changed() -> None:
    session = loaded("(%a: f32[4]) -> f32[4] { %b = negative(%a) %c = add(%b, %a) return %c }")
    x = X.copy()
    x.flags.writeable = False
    session.run("main", x)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize(
    "array",
    [np.arange(8, dtype=np.float32)[::2], X.astype(">f4"), np.asfortranarray(X)],
    ids=["strided", "big-endian", "fortran"],
)
@pytest.mark.parametrize("role", ["host", "accel"])
def test_any_layout_of_an_argument_will_do(array: Any, role: str) -> None:
    session = loaded(f"(%a: f32[4] @{role}) -> f32[4] {{ %b = negative(%a) @{role} return %b }}")
    np.testing.assert_array_equal(session.run("main", array), -array)


def test_tuples_nest_in_arguments_and_results() -> None:
    session = loaded(
        "(%t: ((f32[4], f32[4] @accel), f32[4])) -> (f32[4], (f32[4], f32[4])) {\n"
        "%p = %t[0] %a = %p[0] %b = %p[1] %c = %t[1]\n"
        "%e = exp(%b) @accel\n"
        "%i = (%c, %e) %r = (%a, %i) return %r }"
    )
    first, (second, third) = session.run("main", ((X, X + 1), X + 2))
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, X + 2)
    np.testing.assert_allclose(third, np.exp(X + 1))
    with pytest.raises(rv.ExecutionError, match=r"found a tuple of 3, expected \(\("):
        session.run("main", (X, X, X))


def test_an_empty_result_is_not_launched() -> None:
    session = loaded("(%a: f32[n]) -> f32[n] @host { %b = exp(%a) @accel return %b }")
    assert session.run("main", X[:0]).shape == (0,)
    (record,) = of_kind(session, "library", "kernel")
    assert record.skipped
    assert record.defines == ("main/%b",)
    session.run("main", X)
    (record,) = of_kind(session, "library", "kernel")
    assert not record.skipped


def test_without_trace_there_are_no_records() -> None:
    session = loaded(SHARED_INPUT, trace=False)
    session.run("main", X, X, X)
    assert session.trace == ()


def test_an_entry_can_be_taken_by_name() -> None:
    session = loaded("(%a: f32[4]) -> f32[4] { %b = negative(%a) return %b }")
    np.testing.assert_array_equal(session["main"](X), -X)
    with pytest.raises(rv.ExecutionError, match="did you mean main"):
        session["mian"]


def test_constants_are_placed_when_the_program_is_loaded() -> None:
    session = loaded(
        "(%a: f32[2]) -> f32[2] @host {\n"
        "%k = const f32[2] [1.0, 2.0]\n"
        "%b = add(%a, %k) @accel %c = add(%b, %k) @host return %c }"
    )
    placed = [(r.source, r.target, r.bytes) for r in session.load_trace if r.kind == "copy"]
    assert placed == [("cpu:0", "sim:0", 8)]
    assert in_use(session) == {"cpu:0": 8, "sim:0": 8}
    session.run("main", X[:2])
    assert in_use(session) == {"cpu:0": 8, "sim:0": 8}
    assert "constant" not in {r.cause.kind for r in session.trace if r.cause}


def test_an_argument_can_be_handed_over_on_its_device() -> None:
    session = loaded("(%a: f32[4] @accel) -> f32[4] @accel { %b = exp(%a) @accel return %b }")
    handed = session.put(X, "sim:0")
    for _ in range(2):
        np.testing.assert_allclose(session.run("main", handed), np.exp(X))
        assert [r.cause.kind for r in of_kind(session, "copy") if r.cause] == ["deliver"]
    assert in_use(session)["sim:0"] == 16


def test_an_argument_on_another_device_is_brought_home() -> None:
    session = loaded(
        "(%a: f32[4] @host) -> f32[4] @host { %b = exp(%a) @host return %b }\n"
        "fn @other(%a: f32[4] @accel) -> f32[4] @accel { return %a }"
    )
    handed = session.put(X, "sim:0")
    np.testing.assert_allclose(session.run("main", handed), np.exp(X))
    (copy,) = of_kind(session, "copy")
    assert (copy.source, copy.target) == ("sim:0", "cpu:0")
    assert copy.cause is not None
    assert copy.cause.kind == "argument"


def test_a_donated_array_is_the_callers_no_more() -> None:
    session = loaded(
        "(%a: f32[4] @accel donate) -> f32[4] @accel { %b = exp(%a) @accel return %b }"
    )
    handed = session.put(X, "sim:0")
    np.testing.assert_allclose(session.run("main", handed), np.exp(X))
    assert in_use(session)["sim:0"] == 0
    with pytest.raises(rv.ExecutionError, match="it was donated to an earlier run"):
        session.run("main", handed)


@pytest.mark.parametrize("donated", ["%a", "%b"])
def test_an_array_that_is_donated_may_not_be_given_twice(donated: str) -> None:
    params = ", ".join(f"{v}: f32[4] @accel{' donate' * (v == donated)}" for v in ("%a", "%b"))
    session = loaded(f"({params}) -> f32[4] @accel {{ %c = add(%a, %b) @accel return %c }}")
    handed, other = session.put(X, "sim:0"), session.put(X, "sim:0")
    with pytest.raises(rv.ExecutionError, match=r"the array is donated, and given to %. too"):
        session.run("main", handed, handed)
    pair = (handed, other) if donated == "%a" else (other, handed)
    np.testing.assert_array_equal(session.run("main", *pair), X + X)
    assert in_use(session)["sim:0"] == X.nbytes


def test_what_a_run_computed_can_be_kept() -> None:
    session = loaded(
        "(%a: f32[4]) -> f32[4] @host { %b = exp(%a) @accel %c = negative(%b) @host return %c }"
    )
    session.run("main", X, keep=True)
    found = session.intermediates
    assert found is not None
    assert sorted(found) == ["main/%a", "main/%b", "main/%c"]
    np.testing.assert_allclose(found["main/%b"], np.exp(X))
    session.run("main", X)
    assert session.intermediates is None


def test_a_virtual_clock_times_kernels_and_copies() -> None:
    session = loaded(
        "(%a: f32[4]) -> f32[4] @host { %b = exp(%a) @accel return %b }",
        "host=cpu:0,accel=sim.timed:0",
    )
    session.run("main", X)
    for record in of_kind(session, "copy", "library", "kernel"):
        assert (record.start is None) == (record.device == "cpu:0")
    (kernel,) = of_kind(session, "library", "kernel")
    assert kernel.duration is not None
    assert kernel.duration >= 5000


def test_pythons_collector_rests_while_a_program_is_compiled_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bool] = []
    run = pipeline.run

    def noted(*args: Any, **options: Any) -> Any:
        seen.append(gc.isenabled())
        return run(*args, **options)

    monkeypatch.setattr(pipeline, "run", noted)

    loaded(SHARED_INPUT)
    with pytest.raises(CompileError):
        rv.compile(rv.parse("module {\n}"), policy="none")

    assert seen == [False]
    assert gc.isenabled()


def test_a_profiled_run_times_every_kernel_and_copy_and_others_none() -> None:
    session = loaded(SHARED_INPUT)

    session.run("main", X, X, X)
    assert {record.duration for record in of_kind(session, "kernel", "copy")} == {None}

    session.run("main", X, X, X, profile=True)
    profiled = of_kind(session, "kernel", "copy")
    assert profiled
    assert all(record.duration is not None and record.duration > 0 for record in profiled)


def test_a_profiled_run_keeps_to_the_clock_that_a_device_has() -> None:
    session = loaded(SHARED_INPUT, "host=cpu:0,accel=sim.timed:0")
    times = []
    for profile in (False, True):
        session.run("main", X, X, X, profile=profile)
        times.append([r.duration for r in session.trace if r.device == "sim.timed:0"])

    assert times[0] == times[1]


def test_a_run_lets_go_of_its_arguments_while_its_trace_stays() -> None:
    session = loaded("(%x: f32[4]) -> f32[4] { %y = exp(%x) return %y }")
    given = X.copy()
    held = weakref.ref(given)
    session.run("main", given)

    del given
    gc.collect()

    assert held() is None
    assert [record.op for record in of_kind(session, "kernel")] == ["exp"]
