"""What shapes become in bytecode: numbers where they are known, work where only a run can tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import reference_vm as rv
from reference_vm.bytecode.instructions import (
    AllocStorage,
    Copy,
    Instruction,
    Launch,
    ReadHost,
    View,
)

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def program(body: str, default: str | None = None) -> rv.Program:
    module = rv.parse(f"module {{\n vdevice @host, @accel\n fn @main{body}\n}}")
    return rv.compile(module, "host=cpu:0,accel=sim:0", default=default)


def instructions(compiled: rv.Program) -> Sequence[Instruction]:
    return compiled.executable.by_name["main"].instructions


def of(compiled: rv.Program, *kinds: type) -> list[Instruction]:
    return [i for i in instructions(compiled) if isinstance(i, kinds)]


def test_the_size_and_place_of_a_static_result_are_numbers() -> None:
    compiled = program(
        "(%a: f32[5, 7]) -> f32[5, 7] { %r = add(%a, %a) return %r }", default="accel"
    )

    (storage,) = of(compiled, AllocStorage)
    (launch,) = of(compiled, Launch)

    assert isinstance(storage, AllocStorage)
    assert isinstance(launch, Launch)
    assert (storage.size, launch.targets[0].offset) == (140, 0)
    assert str(compiled.executable.devices[storage.device]) == "sim:0"


def test_reshapes_are_views_and_make_no_record() -> None:
    compiled = program(
        "(%x: f32[3, 4]) -> f32[2, 6] {\n"
        " %a = const i64[1] [12] %b = const i64[2] [2, 6]\n"
        " %y = reshape(%x, %a) %r = reshape(%y, %b) return %r }"
    )
    session = rv.Session(compiled)

    np.testing.assert_array_equal(session.run("main", X), X.reshape(2, 6))

    assert of(compiled, Launch, Copy, AllocStorage) == []
    assert list(session.trace) == []


def test_a_literal_reshape_needs_no_kernel_to_work_out_its_shape() -> None:
    literal = program(
        "(%x: f32[n, 4]) -> f32[2*n, 2] { %s = shape [2*n, 2] %r = reshape(%x, %s) return %r }"
    )
    from_data = program(
        "(%x: f32[n, 4], %t: i64[2]) -> f32[?, ?] { %r = reshape(%x, %t) return %r }"
    )

    assert [v.kernel for v in of(literal, View) if isinstance(v, View)] == [None]
    assert [v.kernel for v in of(from_data, View) if isinstance(v, View)] != [None]
    assert rv.Session(literal).run("main", X).shape == (6, 2)
    assert rv.Session(from_data).run("main", X, np.array([2, -1])).shape == (2, 6)


def test_a_constant_shape_of_an_unknown_size_is_not_read_in_the_run() -> None:
    compiled = program(
        "(%x: f32[n, 4], %m: bool[n]) -> f32[?, 2, ?] {\n"
        " %k = compress(%x, %m, axis = 0) %a = const i64[3] [0, 2, -1]\n"
        " %r = reshape(%k, %a) return %r }"
    )
    session = rv.Session(compiled)
    kept = np.array([True, False, True])
    for _ in range(3):
        found = session.run("main", X, kept)
    before = session.left_to_python()["View reshape"]
    session.run("main", X, kept)

    np.testing.assert_array_equal(found, X[kept].reshape(2, 2, 2))
    assert of(compiled, ReadHost) == []
    assert session.left_to_python()["View reshape"] == before
    assert session.run("main", X, np.zeros(3, bool)).shape == (0, 2, 2)


def test_a_copy_of_a_reshaped_value_has_its_size_as_a_number() -> None:
    compiled = program(
        "(%x: f32[3, 4] @host) -> f32[12] @accel {\n"
        " %a = const i64[1] [12] %y = reshape(%x, %a) %r = device_copy(%y) @accel return %r }"
    )

    (copy,) = of(compiled, Copy)

    assert isinstance(copy, Copy)
    assert copy.target.shape == (12,)
    sizes = [s.size for s in of(compiled, AllocStorage) if isinstance(s, AllocStorage)]
    assert sizes == [48]


def test_a_constant_lies_in_a_tuple_of_several_ranks() -> None:
    compiled = program(
        "(%x: f32[n]) -> (f32[n], f32[], (f32[2, 1], f32[n])) {\n"
        " %k = const f32[] 2.0 %m = const f32[2, 1] [1.0, 2.0]\n"
        " %inner = (%m, %x) %r = (%x, %k, %inner) return %r }"
    )

    first, second, (third, fourth) = rv.Session(compiled).run("main", X[0])

    np.testing.assert_array_equal(first, X[0])
    np.testing.assert_array_equal(second, np.float32(2))
    np.testing.assert_array_equal(third, np.array([[1], [2]], np.float32))
    np.testing.assert_array_equal(fourth, X[0])


def test_an_operand_added_to_a_sum_made_elsewhere_takes_one_copy() -> None:
    module = rv.parse(
        "module {\n vdevice @accel, @host\n"
        " fn @main(%x: f32[n], %y: f32[n], %z: f32[n]) -> f32[n] {\n"
        " %s = add(%y, %z) @host %r = add(%x, %s) return %r }\n}"
    )
    session = rv.Session(rv.compile(module, "accel=sim:0,host=cpu:0", default="accel"))

    np.testing.assert_array_equal(session.run("main", X[0], X[1], X[2]), X[0] + (X[1] + X[2]))

    causes = [r.cause.kind for r in session.trace if r.kind == "copy" and r.cause]
    assert causes.count("read") == 1
