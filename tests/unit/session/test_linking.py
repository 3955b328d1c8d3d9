"""Kernels are shared by structure, per target and device kind."""

from __future__ import annotations

import pytest

import reference_vm as rv
from reference_vm import linking
from reference_vm.bytecode.kernel import Kernel

PROGRAM = """module {{
  vdevice @host
  fn @main(%{x}: f32[{n}]) -> f32[{n}] {{ %y = {op}(%{x}) return %y }}
}}"""


def kernel(
    x: str = "x", n: str = "n", op: str = "exp", on: str = "cpu:0", by: str | None = None
) -> Kernel:
    program = rv.compile(rv.parse(PROGRAM.format(x=x, n=n, op=op)), f"host={on}", executor=by)
    (made,) = linking.link(program.executable.kernels, program.primitives, program.executor)
    return made


def test_equal_functions_of_different_programs_share_a_kernel() -> None:
    assert kernel("a", by="numpy") is kernel("b", by="numpy")


@pytest.mark.parametrize(
    "other", [{"op": "abs"}, {"on": "sim:0"}, {"by": "numba"}], ids=["operator", "kind", "target"]
)
def test_anything_that_counts_makes_another_kernel(other: dict[str, str]) -> None:
    pytest.importorskip("llvmlite")
    assert kernel(**{"by": "numpy", **other}) is not kernel(by="numpy")
