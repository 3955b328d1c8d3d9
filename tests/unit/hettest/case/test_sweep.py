"""Sweeps that would give ids of two meanings, or items without end, are refused."""

from __future__ import annotations

from typing import Any

import pytest

from hettest.case.sweep import MOST, wrong_sweep


@pytest.mark.parametrize("word", ["a,y=b", "a=b", "[", "x]", "two\nlines"])
def test_words_that_part_ids_need_a_name(word: str) -> None:
    ((path, message),) = wrong_sweep({"x": [word, "plain"]})

    assert path == ("x",)
    assert repr(word) in message
    assert "[sweep.x]" in message


def test_a_named_value_may_be_anything() -> None:
    assert not list(wrong_sweep({"x": {"list": "a,b=[c]"}}))


def test_combinations_are_bounded() -> None:
    ten: list[Any] = list(range(10))

    assert not list(wrong_sweep({"a": ten, "b": ten, "c": ten}))
    ((path, message),) = wrong_sweep({"a": ten, "b": ten, "c": ten, "d": [1, 2]})
    assert path == ()
    assert "2000 combinations" in message
    assert str(MOST) in message
