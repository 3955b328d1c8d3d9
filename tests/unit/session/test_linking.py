"""Kernels are shared by structure, per target and device kind."""

from __future__ import annotations

import numpy as np
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


BRANCHES = """module {
  fn @main(%x: f32[n], %p: bool[]) -> f32[n] {
    %y = if %p {
      %a = sinh(%x)
      %b = multiply(%a, %x)
      yield %b
    } else {
      %c = cosh(%x)
      %d = subtract(%c, %x)
      yield %d
    }
    return %y
  }
}
"""


@pytest.mark.parametrize("interpreter", [False, True])
def test_what_lies_in_a_branch_that_is_not_taken_is_not_compiled(
    interpreter: bool,
) -> None:
    pytest.importorskip("llvmlite")
    from reference_vm.targets.numba.kernel import CompiledKernel

    linking.forget()  # another test may have run these kernels
    program = rv.compile(rv.parse(BRANCHES))
    session = rv.Session(program, interpreter=interpreter)
    kernels = linking.link(program.executable.kernels, program.primitives)

    session.run("main", np.ones(3, np.float32), np.array(True))

    assert all(isinstance(k, CompiledKernel) for k in kernels)
    ready = {k.ops[0]: "entry" in vars(k) for k in kernels}
    assert ready == {"sinh": True, "cosh": False}
    session.run("main", np.ones(3, np.float32), np.array(False))
    assert all("entry" in vars(k) for k in kernels)
