"""What a run shows of its values is true though a constant is kept in another order."""

from __future__ import annotations

import numpy as np

from reference_vm.compiler import compile as compile_module
from reference_vm.session import Session
from reference_vm.text import parse

TEXT = """module {
  fn @main(%x: f32[n, 64]) -> f32[n, 128] {
    %w = const f32[128, 64] hex "WEIGHTS"
    %t = permute_dims(%w, axes = [1, 0])
    %y = matmul(%x, %t)
    return %y
  }
}
"""


def test_a_constant_in_panels_is_not_shown_as_if_it_lay_in_order() -> None:
    weights = np.random.default_rng(0).random((128, 64), np.float32)
    module = parse(TEXT.replace("WEIGHTS", weights.tobytes().hex()))
    program = compile_module(module)
    assert any(slot.packed for slot in program.executable.constants)
    session = Session(program)

    result = session.run("main", np.ones((3, 64), np.float32), keep=True)

    np.testing.assert_allclose(result, np.broadcast_to(weights.sum(1), (3, 128)), rtol=1e-5)
    assert session.intermediates is not None
    shown = session.intermediates.get("main/%t", weights.T)
    np.testing.assert_array_equal(shown, weights.T)
