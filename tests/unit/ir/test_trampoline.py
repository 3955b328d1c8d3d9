"""Generators call each other without Python's stack."""

from __future__ import annotations

import pytest

from reference_vm.ir.trampoline import Steps, run


def count(depth: int) -> Steps[int]:
    if depth == 0:
        return 0
    below: int = yield count(depth - 1)
    return below + 1


def test_calls_nest_deeper_than_pythons_stack() -> None:
    assert run(count(100_000)) == 100_000


def test_an_exception_in_a_nested_call_ends_the_run() -> None:
    def failing(depth: int) -> Steps[int]:
        if depth == 0:
            raise ValueError("the bottom")
        below: int = yield failing(depth - 1)
        return below

    with pytest.raises(ValueError, match="the bottom"):
        run(failing(10_000))
