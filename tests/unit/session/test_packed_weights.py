"""Weights in panels: one copy, which memory counts, and no other bits or files than without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.bytecode.checking.panels import panel_problems
from reference_vm.jit.panels import host_width, packed_shape
from reference_vm.program.kernels import signature
from reference_vm.program.program import Program
from reference_vm.session import Session
from reference_vm.text import parse
from reference_vm.types.dtype import F32

GENERATOR = np.random.default_rng(8)
X = GENERATOR.standard_normal((5, 96)).astype(np.float32)
W = GENERATOR.standard_normal((96, 100)).astype(np.float32)


def program(device: str = "cpu:0", weight: str = "hex", **options: Any) -> Program:
    data = f'"{W.tobytes().hex()}"'
    text = f"""module {{
        vdevice @host, @accel
        fn @main(%x: f32[n, 96] @accel) -> f32[n, 100] @accel {{
          %w = const f32[96, 100] {weight} {data} @accel
          %m = matmul(%x, %w)
          %r = relu(%m)
          return %r
        }}
      }}"""
    return rv.compile(parse(text), device_map=f"accel={device}", **options)


@pytest.mark.parametrize("device", ["cpu:0", "sim:0"])
def test_a_weight_is_kept_in_panels_and_counted_so(device: str) -> None:
    made = program(device)
    (slot,) = made.executable.constants
    assert slot.packed
    session = Session(made)
    expected = np.prod(packed_shape(96, 100, host_width(F32))) * 4
    assert session.memory()[device].current == expected


@pytest.mark.parametrize("device", ["cpu:0", "sim:0"])
def test_panels_change_no_bit(device: str) -> None:
    plain = """module {
        vdevice @host, @accel
        fn @main(%x: f32[n, 96] @accel, %w: f32[96, 100] @accel) -> f32[n, 100] @accel {
          %m = matmul(%x, %w)
          %r = relu(%m)
          return %r
        }
      }"""
    expected = Session(rv.compile(parse(plain), device_map=f"accel={device}")).run("main", X, W)
    found = Session(program(device)).run("main", X)
    np.testing.assert_array_equal(found, expected)


def test_a_program_in_panels_runs_by_the_library_too() -> None:
    """As it does where it is loaded without what makes kernels."""
    found = Session(replace(program(), executor="numpy")).run("main", X)
    np.testing.assert_allclose(found, np.maximum(X @ W, 0), rtol=1e-4, atol=1e-4)


def test_a_saved_program_says_what_lies_in_panels(tmp_path: Path) -> None:
    path = tmp_path / "program"
    program().save(path)
    loaded = rv.load(path)
    (slot,) = loaded.executable.constants
    assert slot.packed
    np.testing.assert_array_equal(Session(loaded).run("main", X), Session(program()).run("main", X))


def test_the_library_alone_wants_no_panels() -> None:
    (slot,) = program(executor="numpy").executable.constants
    assert not slot.packed


@pytest.mark.parametrize("fault", ["kernel", "constant", "none"])
def test_bytecode_whose_panels_nobody_expects_is_refused(fault: str) -> None:
    made = program()
    executable, signatures = made.executable, [signature(p) for p in made.primitives]
    if fault == "kernel":
        signatures = [replace(s, panels=()) for s in signatures]
    if fault == "constant":
        slots = tuple(replace(s, packed=False) for s in executable.constants)
        executable = replace(executable, constants=slots)
    assert bool(list(panel_problems(executable, signatures))) == (fault != "none")
