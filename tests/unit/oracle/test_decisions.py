"""Where a decision is too close to call, the oracle says so; what the run decided, it follows."""

from __future__ import annotations

import numpy as np

from reference_vm.ir.nodes import Binding, Block, Call, Function, Module, Var
from reference_vm.oracle.estimate import Estimate
from reference_vm.oracle.evaluate import evaluate
from reference_vm.types import TensorType
from reference_vm.types.dtype import F32


def _program() -> Module:
    """``r = where(a / b < c, a, b)``"""
    a, b, c = (Var(n, TensorType(F32, (3,))) for n in "abc")
    q, k, r = Var("q"), Var("k"), Var("r")
    body = Block(
        (
            Binding(q, Call("divide", (a, b))),
            Binding(k, Call("less", (q, c))),
            Binding(r, Call("where", (k, a, b))),
        ),
        r,
    )
    return Module(functions=(Function("main", (a, b, c), TensorType(F32, (3,)), body),))


ARGS = [
    np.asarray([1, 1, 1], np.float32),
    np.asarray([3, 3, 3], np.float32),
    np.asarray([0.0, 1 / 3, 1.0], np.float32),
]


def test_an_element_at_the_edge_is_undecided_and_no_other() -> None:
    result = evaluate(_program(), "main", ARGS).result

    assert isinstance(result, Estimate)
    assert np.isinf(result.errors).tolist() == [False, True, False]


def test_the_branch_that_the_run_took_is_followed() -> None:
    for decided, expected in ((True, 1.0), (False, 3.0)):
        observed = {"main/%k": np.asarray([False, decided, True])}

        result = evaluate(_program(), "main", ARGS, observed).result

        assert isinstance(result, Estimate)
        assert result.error is None
        assert float(result.value[1]) == expected
