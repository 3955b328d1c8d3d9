"""Einsum of two tensors is imported as a matrix product where it is one."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from reference_vm.exchange import from_onnx
from reference_vm.ir.nodes import Call
from reference_vm.ir.rewrite import walk
from tests.unit.exchange.evaluation import evaluate
from tests.unit.exchange.models import Dims, model, value

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6}


def _operators(equation: str, dims: list[Dims]) -> tuple[set[str], object]:
    """Return the operators of the imported model and what it computes."""
    terms = equation.replace(" ", "").split("->")[0].split(",")
    inputs = [value(f"x{i}", d) for i, d in enumerate(dims)]
    node = helper.make_node("Einsum", [i.name for i in inputs], ["y"], equation=equation)
    result = helper.make_empty_tensor_value_info("y")
    module = from_onnx(model([node], inputs, [result]))
    random = np.random.default_rng(7)
    arrays = [
        random.normal(size=[SIZES[c] for c in term.replace("...", "a")]).astype(np.float32)
        for term in terms
    ]
    found = evaluate(module, arrays)
    np.testing.assert_allclose(found, np.einsum(equation, *arrays), rtol=1e-5, atol=1e-6)
    calls = [b.value for b in walk(module.by_name["main"].body)]
    return {c.op for c in calls if isinstance(c, Call)}, found


def _static(equation: str) -> list[Dims]:
    terms = equation.replace(" ", "").split("->")[0].split(",")
    return [[SIZES[c] for c in term.replace("...", "a")] for term in terms]


@pytest.mark.parametrize(
    "equation",
    [
        "abcd,cde->abe",
        "ab,bc->ac",
        "ab, cb -> ca",
        "abc,acd->abd",
        "cab,dca->bdc",
        "ab,ab->a",
        "ab,ab->",
        "abd,dc->cba",
    ],
)
def test_what_is_a_matrix_product_becomes_one(equation: str) -> None:
    operators, _ = _operators(equation, _static(equation))
    assert "matmul" in operators
    assert "einsum" not in operators


def test_symbolic_sizes_are_multiplied() -> None:
    operators, _ = _operators("abcd,cde->abe", [["n", "m", 4, 5], [4, 5, 6]])
    assert "matmul" in operators


@pytest.mark.parametrize(
    ("equation", "dims"),
    [
        ("ab,bc->abc", None),
        ("aa,ab->ab", None),
        ("ab,cd->ac", None),
        ("abc,bd->ad", None),
        ("ab,bc", None),
        ("...b,bc->...c", None),
        ("ab,bc,cd->ad", None),
        ("ab,bc->ac", [["n", "m"], ["k", 4]]),
        ("ab,bc->ac", [[2, None], [3, 4]]),
    ],
)
def test_everything_else_stays_what_it_is(equation: str, dims: list[Dims] | None) -> None:
    operators, _ = _operators(equation, _static(equation) if dims is None else dims)
    assert "einsum" in operators
