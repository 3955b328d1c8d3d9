"""ONNX's own node tests, all of them, through `reference_vm.interop.onnx_backend`.

What each one ends in is committed. A change for the better is a failure too: then write the file
anew, ``python -m tests.contract.onnx_nodes``, and read the difference.
"""

from __future__ import annotations

import onnx
import pytest

from tests.contract.onnx_nodes import EXPECTED, Result, listed, results

WRITTEN_WITH = "1.23"
"""The version of onnx whose node tests the file lists; another has others."""


@pytest.fixture(scope="module")
def expected() -> list[Result]:
    return listed(EXPECTED)


def test_no_node_test_is_expected_to_be_wrong(expected: list[Result]) -> None:
    assert {r.outcome for r in expected} <= {"passed", "close", "refused"}
    assert all(bool(r.detail) == (r.outcome == "refused") for r in expected)


def test_most_node_tests_pass(expected: list[Result]) -> None:
    assert sum(r.outcome == "passed" for r in expected) >= 1_400


def test_every_node_test_ends_as_listed(expected: list[Result]) -> None:
    found = list(results())
    assert [r for r in found if r.outcome == "wrong"] == []
    if onnx.__version__.startswith(WRITTEN_WITH + "."):
        assert found == expected
