"""Every operator has a case with each dtype that its type rule takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

from hettest.case import walk
from hettest.corpus import own_cases
from hettest.language import DiagnosticError, TensorType, nodes, parse
from reference_vm.ops.catalog import OPS
from tests.property.grid_cells import cells

WITHOUT = {"scatter_elements": {"bool"}, "scatter_nd": {"bool"}, "match_cast": {"bool"}}
"""Dtypes that no case has, by operator."""


def used(function: nodes.Function) -> Iterator[tuple[str, str]]:
    """Yield each operator with the dtypes of its operands, as far as the text shows them."""
    dtypes: dict[nodes.Var, str] = {}
    for param in function.params:
        if isinstance(param.type, TensorType):
            dtypes[param] = str(param.type.dtype)
    for binding in walk.bindings(function):
        value = binding.value
        if isinstance(value, nodes.Constant):
            dtypes[binding.var] = str(value.dtype)
        if isinstance(value, nodes.Call):
            known = [dtypes[a] for a in value.args if isinstance(a, nodes.Var) and a in dtypes]
            yield from ((value.op, dtype) for dtype in known)
            if known:
                dtypes[binding.var] = known[0]


@pytest.fixture(scope="module")
def covered() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for case in own_cases():
        if case.refused:
            continue
        try:
            module = parse(case.program, case.id)
        except DiagnosticError:
            continue
        for function in module.functions:
            for op, dtype in used(function):
                found[op].add(dtype)
    return found


@pytest.mark.parametrize("name", OPS)
def test_each_dtype_of_an_operator_is_in_a_case(covered: dict[str, set[str]], name: str) -> None:
    taken = {str(cell.dtype) for cell in cells(OPS[name]) if cell.dtype and cell.is_accepted}

    assert taken - covered[name] == WITHOUT.get(name, set())
