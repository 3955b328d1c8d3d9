"""The stored suites of the onnx package through our ONNX backend: all of them, as listed.

A refusal that is new, or gone, is a difference: ``python -m tests.contract.onnx_suites`` writes the
list anew.
"""

from __future__ import annotations

import onnx
import pytest

from tests.contract.onnx_nodes import Result, listed
from tests.contract.onnx_suites import EXPECTED, results
from tests.contract.test_onnx_node_tests import WRITTEN_WITH


@pytest.fixture(scope="module")
def expected() -> list[Result]:
    return listed(EXPECTED)


def test_no_stored_test_is_expected_to_be_wrong(expected: list[Result]) -> None:
    assert {r.outcome for r in expected} <= {"passed", "refused"}
    assert all(bool(r.detail) == (r.outcome == "refused") for r in expected)


def test_most_stored_tests_pass(expected: list[Result]) -> None:
    assert len(expected) == 149
    assert sum(r.outcome == "passed" for r in expected) >= 115


def test_every_stored_test_ends_as_listed(expected: list[Result]) -> None:
    found = list(results())
    assert [r for r in found if r.outcome == "wrong"] == []
    if onnx.__version__.startswith(WRITTEN_WITH + "."):
        assert found == expected
